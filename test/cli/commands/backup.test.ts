// `podkeep backup` as an operator types it: beside a running server, on a full disk, with the wrong file.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openApp } from "../../../src/app.ts";
import { readConfig } from "../../../src/config/settings.ts";
import { createUser } from "../../../src/services/users.ts";
import { addFeeds } from "../../support/feeds.ts";
import { openProgram, SOURCE } from "../../support/program.ts";

let podkeep: ReturnType<typeof openProgram>;
let folder: string;
let count: number;

beforeEach(async () => {
  podkeep = openProgram();
  folder = podkeep.data;
  const app = await openApp(readConfig({ data_dir: folder }, {}).config);
  const { id } = await createUser(app, "ann");
  const feeds = Array.from({ length: 300 }, (_, index) => `https://feed${index}.test/rss`);
  count = (await addFeeds(app, id, feeds)).length;
  await app.close();
});
afterEach(() => podkeep.close());

const backup = (...args: string[]) => podkeep.run(["backup", ...args]);
const made = () => (existsSync(join(folder, "backups")) ? readdirSync(join(folder, "backups")).sort() : []);

/** Runs a command that may write 100 KiB to each file. */
async function onFullDisk(...args: string[]) {
  const limited = openProgram(["bash", "-c", 'ulimit -f 100; exec "$@"', "bash", ...SOURCE]);
  const ran = await limited.run([...args, "--data-dir", folder]);
  limited.close();
  return ran;
}

/** @throws where it isn't so within 20 seconds */
async function until(isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + 20_000; !isSo(); await Bun.sleep(20)) {
    if (Date.now() > end) throw new Error("It took too long");
  }
}

test("a backup is made and checked while the server runs, and told as JSON where that is asked", async () => {
  const server = await podkeep.serve();
  const { code, json } = await backup("create", "--json");
  expect(code).toBe(0);
  const { file, tables } = json;
  expect(tables.subscriptions).toBe(count);
  expect(await backup("verify", file)).toMatchObject({ code: 0, out: expect.stringContaining("is sound") });
  await server.stop();
});

test("a restore over a running server is refused in one line, and goes well once it has stopped", async () => {
  const file = join(folder, "copy.db");
  await backup("create", file);
  const server = await podkeep.serve();
  const refused = await backup("restore", file);
  expect(refused).toMatchObject({ code: 1, out: "" });
  expect(refused.err).toMatch(/^error: A podkeep server .* uses .*: stop it first\n$/);
  await server.stop();
  const { code, json } = await backup("restore", file, "--json");
  expect(code).toBe(0);
  expect(json.tables.subscriptions).toBe(count);
});

test("a server that was killed does not stand in the way of a restore", async () => {
  const file = join(folder, "copy.db");
  await backup("create", file);
  const server = await podkeep.serve();
  server.child.kill("SIGKILL");
  await server.child.exited;
  expect((await backup("restore", file)).code).toBe(0);
});

test("a second server on the same folder is refused in one line", async () => {
  const server = await podkeep.serve();
  const second = await podkeep.run(["serve", "--port", "0"]);
  expect(second.code).toBe(1);
  expect(second.err).toMatch(/^error: Another podkeep server.*\n$/);
  await server.stop();
});

test("the server makes the backup that was missed while it was off, and keeps as many as it is told", async () => {
  mkdirSync(join(folder, "backups"));
  for (const day of ["01", "02", "03"]) {
    const name = `podkeep-2020-01-${day}T00-00-00-000Z.db`;
    writeFileSync(join(folder, "backups", name), "old");
  }
  const server = await podkeep.serve(["--backup-schedule", "0 0 1 1 *", "--backup-keep", "2"]);
  await until(() => made().length === 2 && made().every((name) => name.endsWith(".db")));
  await server.stop();
  expect(made()[0]).toBe("podkeep-2020-01-03T00-00-00-000Z.db");
});

test("a folder for backups that can't be read keeps no server from starting: the log says that the backup failed", async () => {
  const notFolder = join(folder, "podkeep.db");
  const server = await podkeep.serve(["--backup-schedule", "0 0 1 1 *", "--backup-dir", notFolder]);
  expect(await server.until("backup failed")).toContain(notFolder);
  await server.stop();
});

test("a schedule that is no cron expression stops the server in one line", async () => {
  for (const [schedule, reason] of [
    ["every night", "not a cron expression"],
    ["61 * * * *", "not a cron expression"],
    ["* * * * * *", "not a cron expression"],
    ["0 0 30 2 *", "never comes"],
  ] as const) {
    const { code, err } = await podkeep.run(["serve", "--backup-schedule", schedule]);
    expect([code, err]).toEqual([
      3,
      expect.stringMatching(new RegExp(`^error: --backup-schedule="[^"]*" .*${reason}.*\n$`)),
    ]);
  }
});

test("a schedule for data on PostgreSQL is refused", async () => {
  const args = ["serve", "--database-url", "postgres://127.0.0.1:1/x", "--backup-schedule", "0 3 * * *"];
  expect(await podkeep.run(args)).toMatchObject({ code: 3, err: expect.stringContaining("pg_dump") });
});

test("a disk that is full in the middle of a backup leaves nothing behind and harms nothing", async () => {
  const { code, err } = await onFullDisk("backup", "create");
  expect([code, made()]).toEqual([1, []]);
  expect(err).toMatch(/^error: .* could not be written: .*\n$/);
  expect((await backup("create")).code).toBe(0);
});

test("of a damaged database no backup is made, and it is the database that is named", async () => {
  const file = join(folder, "podkeep.db");
  const damaged = readFileSync(file).fill(0xa5, 8192);
  writeFileSync(file, damaged);
  const { code, err } = await backup("create");
  expect([code, err, made()]).toEqual([3, expect.stringMatching(/^error: .*podkeep\.db is damaged .*\n$/), []]);
  expect(readFileSync(file)).toEqual(damaged);
});

test("a disk that is full in the middle of a restore leaves the data as it was", async () => {
  const file = join(folder, "copy.db");
  await backup("create", file);
  const before = await Bun.file(join(folder, "podkeep.db")).bytes();
  const { code, err } = await onFullDisk("backup", "restore", file);
  expect(code).toBe(1);
  expect(err).toMatch(/^error: .*\n$/);
  expect(await Bun.file(join(folder, "podkeep.db")).bytes()).toEqual(before);
  expect(readdirSync(folder).filter((name) => name.startsWith("re"))).toEqual([]);
});

test("the exit code tells what is wrong with a file", async () => {
  const file = join(folder, "copy.db");
  writeFileSync(file, "rubbish");
  expect((await backup("verify", file)).code).toBe(2);
  expect((await backup("restore", file)).code).toBe(2);
  expect((await backup("create", file)).code).toBe(1);
  expect((await backup("verify", join(folder, "none.db"))).code).toBe(4);
  expect((await backup("prune", "--keep", "some")).code).toBe(2);
  expect((await backup("prune", "--keep", "1")).err).toContain("--yes");
  expect((await backup("create", "--data-dir", join(folder, "elsewhere"))).code).toBe(4);
});
