// What admins get from the commands, each a process of its own on a real file.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openProgram } from "./podkeep.ts";

let program: ReturnType<typeof openProgram>;
beforeEach(() => {
  program = openProgram();
});
afterEach(() => program.close());

const OPML = `<opml version="2.0"><body><outline text="News">
<outline text="A &amp; B" xmlUrl="https://a.example/feed?key=secret"/><outline text="A again" xmlUrl="http://a.example/feed?key=secret"/>
<outline text="Bad" xmlUrl="ftp://b.example/x"/></outline></body></opml>`;

test("a user is made, listed and deleted, but not without --yes where nobody can be asked", async () => {
  expect((await program.run(["user", "create", "alice"])).code).toBe(0);
  expect((await program.run(["user", "create", "alice", "--json"])).json.error.code).toBe("conflict");
  expect((await program.run(["user", "list", "--json"])).json).toMatchObject([{ name: "alice", subscriptions: 0 }]);
  expect((await program.run(["user", "delete", "alice"])).code).toBe(2);
  expect((await program.run(["user", "delete", "alice", "--yes"])).code).toBe(0);
  expect((await program.run(["user", "delete", "alice", "--yes"])).code).toBe(4);
});

test("a token is shown once; the list tells its state and never its secret", async () => {
  await program.run(["user", "create", "alice"]);
  const issued = await program.run(["token", "issue", "alice", "--label", "Player", "--expires", "90d", "--json"]);
  expect(issued.json.header).toBe(`Authorization: Bearer ${issued.json.token}`);
  expect((await program.run(["token", "revoke", issued.json.id, "--yes"])).code).toBe(0);
  const list = await program.run(["token", "list", "alice", "--json"]);
  expect(list.json).toMatchObject([{ label: "Player", scope: "write", state: "revoked", last_used: null }]);
  expect(list.out).not.toContain(issued.json.token.split("_")[2]);
});

test.each([
  [["nonsense"], 2],
  [["user", "create", "a b"], 2],
  [["token", "issue", "nobody"], 4],
  [["token", "issue", "alice", "--expires", "tomorrow"], 2],
  [["token", "issue", "alice", "--expires", "2001-01-31"], 2],
  [["token", "issue", "alice", "--scope", "all"], 2],
  [["token", "revoke", "nothing", "--yes"], 4],
  [["deletion", "show", "alice", "zero"], 2],
  [["deletion", "retry", "alice", "7"], 4],
  [["opml", "import", "alice", "missing.opml"], 4],
  [["opml", "export", "nobody"], 4],
  [["healthcheck", "--port", "1"], 1],
  [["serve", "--port", "http"], 3],
])("%j is refused with exit code %d and one JSON error", async (args, code) => {
  await program.run(["user", "create", "alice"]);
  const ran = await program.run([...args, "--json"]);
  expect(ran.code).toBe(code);
  expect(ran.out).toBe("");
  expect(ran.json.error.message).toBeString();
});

test("a command on a folder without a database says so and makes none", async () => {
  const ran = await program.run(["user", "list"]);
  expect(ran.code).toBe(3);
  expect(existsSync(program.data)).toBe(false);
});

test("an import tells what it added, what was there and what failed, and no address", async () => {
  await program.run(["user", "create", "alice"]);
  const dry = await program.run(["opml", "import", "alice", "-", "--dry-run", "--json"], OPML);
  expect((await program.run(["user", "list", "--json"])).json[0].subscriptions).toBe(0);
  const real = await program.run(["opml", "import", "alice", "-"], OPML);
  expect(real.out).toContain("1 added, 1 there already, 1 failed");
  expect(real.out).not.toContain("secret");
  expect(real.code).toBe(1);
  expect(JSON.parse(dry.out).added).toEqual([{ title: "A & B", host: "a.example" }]);
});

test("a file that is no OPML is refused", async () => {
  await program.run(["user", "create", "alice"]);
  expect(await program.run(["opml", "import", "alice", "-", "--json"], "<html></html>")).toMatchObject({
    code: 2,
    json: { error: { message: "The file is not OPML" } },
  });
});

test("what is exported imports again, and an export is its owner's alone", async () => {
  await program.run(["user", "create", "alice"]);
  await program.run(["user", "create", "bob"]);
  await program.run(["opml", "import", "alice", "-"], OPML);
  const file = join(program.folder, "alice.opml");
  writeFileSync(file, "mine");
  expect((await program.run(["opml", "export", "alice", file])).code).toBe(2);
  expect(readFileSync(file, "utf8")).toBe("mine");
  expect((await program.run(["opml", "export", "alice", file, "--yes"])).code).toBe(0);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await program.run(["opml", "import", "bob", file, "--json"])).json.added).toHaveLength(1);
  const [mine, theirs] = [await program.run(["opml", "export", "alice"]), await program.run(["opml", "export", "bob"])];
  expect(theirs.out.split("<body>")[1]).toBe(mine.out.split("<body>")[1]);
});
