// The compiled executable, from its build to a restart with the same data.
import { expect, test } from "bun:test";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./support/patience.ts";
import { openFreshProgram } from "./support/program.ts";
import { executable } from "./support/start-server.ts";

test("the executable serves, syncs, deletes and restarts; files in the current directory don't affect it", async () => {
  const file = await executable();
  const program = openFreshProgram([file]);
  const { out } = await program.run(["--version"]);
  expect(out).toMatch(/^\d+\.\d+\.\d+ \(commit [0-9a-f]{12}, built \d{4}-\d\d-\d\d\)\n$/);
  writeFileSync(join(program.folder, ".env"), "PODKEEP_PORT=nonsense\n");
  writeFileSync(join(program.folder, "bunfig.toml"), 'preload = ["./evil.ts"]\n');
  writeFileSync(join(program.folder, "evil.ts"), "process.exit(77);\n");

  let server = await program.serve();
  await server.until(`${file} user create`);
  await program.run(["user", "create", "alice"]);
  const { token } = (await program.run(["token", "issue", "alice", "--json"])).json;
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(server.address + path, { headers, ...init });
    return { status: answer.status, body: JSON.parse(await answer.text()) };
  };
  const items = ["https://a.example/feed", "https://b.example/feed"].map((feed_url) => ({ feed_url }));
  const added = await ask("/v1/subscriptions", { method: "POST", body: JSON.stringify({ subscriptions: items }) });
  const [{ guid }] = added.body.success;
  const { deletion_id } = (await ask(`/v1/subscriptions/${guid}`, { method: "DELETE" })).body;
  await until(async () => (await ask(`/v1/deletions/${deletion_id}`)).body.status === "SUCCESS");
  const before = await ask("/v1/subscriptions");
  expect(before.body.total).toBe(2);
  expect(await server.stop()).toBe(0);

  server = await program.serve(["--backup-schedule", "0 0 1 1 *"]);
  const after = await ask("/v1/subscriptions");
  expect(after.body).toEqual(before.body);
  expect((await ask(`/v1/subscriptions/${guid}`)).status).toBe(410);
  const backups = join(program.data, "backups");
  await until(() => isBackup(backups));
  expect(await server.stop()).toBe(0);
  program.close();
});

const isBackup = (folder: string) => existsSync(folder) && readdirSync(folder).some((name) => name.endsWith("Z.db"));
