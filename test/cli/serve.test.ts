// What admins get from the server's start and end.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openProgram } from "./podkeep.ts";

let program: ReturnType<typeof openProgram>;
beforeEach(() => {
  program = openProgram();
});
afterEach(() => program.close());

test("commands work while the server runs, and it ends with the log written into the database", async () => {
  const server = await program.serve();
  await program.run(["user", "create", "alice"]);
  const { token, id } = (await program.run(["token", "issue", "alice", "--json"])).json;
  const headers = { Authorization: `Bearer ${token}` };
  expect((await fetch(`${server.address}/v1/subscriptions`, { headers })).status).toBe(200);
  await program.run(["token", "revoke", id, "--yes"]);
  expect((await fetch(`${server.address}/v1/subscriptions`, { headers })).status).toBe(401);
  expect(await server.stop()).toBe(0);
  expect(existsSync(join(program.data, "podkeep.db-wal"))).toBe(false);
});

test("a body far over the limit gets an answer that clients can read", async () => {
  const server = await program.serve(["--max-body", "1024", "--drain-timeout", "500ms"]);
  await program.run(["user", "create", "alice"]);
  const { token } = (await program.run(["token", "issue", "alice", "--json"])).json;
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const answer = await fetch(`${server.address}/subscriptions`, {
    method: "POST",
    headers,
    body: "x".repeat(2_000_000),
  });
  expect(answer.status).toBe(413);
  expect(await answer.json()).toMatchObject({ code: "413" });
  await server.stop();
});

test("a port that is taken ends it with exit code 3, and no folder is made", async () => {
  const server = await program.serve();
  const other = join(program.folder, "other");
  const ran = await program.run(["serve", "--port", new URL(server.address).port, "--data-dir", other]);
  expect(ran.code).toBe(3);
  expect(ran.err).toContain("is taken");
  expect(existsSync(other)).toBe(false);
  await server.stop();
});

test("a file that is not ours ends it with exit code 3 and stays as it was", async () => {
  mkdirSync(program.data);
  const file = join(program.data, "podkeep.db");
  writeFileSync(file, "not a database, but somebody's text");
  chmodSync(file, 0o600);
  expect((await program.run(["serve", "--port", "0"])).code).toBe(3);
  expect(readFileSync(file, "utf8")).toBe("not a database, but somebody's text");
});
