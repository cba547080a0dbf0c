// `podkeep backup`: beside a running server, on a full disk, with wrong files.
import { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { openApp } from "../../../src/app.ts";
import { readConfig } from "../../../src/config/settings.ts";
import type { Finding } from "../../../src/doctor/finding.ts";
import { createUser } from "../../../src/services/accounts/users.ts";
import { addFeeds } from "../../support/feeds.ts";
import { until } from "../../support/patience.ts";
import { openProgram, PROGRAM } from "../../support/program.ts";

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
  const limited = openProgram(["bash", "-c", 'ulimit -f 100; exec "$@"', "bash", ...PROGRAM]);
  const ran = await limited.run([...args, "--data-dir", folder]);
  limited.close();
  return ran;
}

test("a backup is of the data directory, also if that is relative and begins like a URI", async () => {
  for (const name of ["file:other", "new\nline", "a b?c#d%41'"]) {
    expect((await podkeep.run(["user", "create", "ann", "--data-dir", name])).code).toBe(0);
    expect(await podkeep.run(["backup", "create", "--data-dir", name])).toMatchObject({ code: 0, err: "" });
  }
});

test("a backup is created and verified while the server runs", async () => {
  const server = await podkeep.serve();
  const { code, json } = await backup("create", "--json");
  expect(code).toBe(0);
  const { file, tables } = json;
  expect(tables.subscriptions).toBe(count);
  expect(await backup("verify", file)).toMatchObject({
    code: 0,
    out: expect.stringContaining(`is a valid backup\n1 user, ${count} subscriptions, `),
  });
  await server.stop();
});

test("of a podcast that was unsubscribed, a backup and its restore don't say that they have it", async () => {
  await podkeep.run(["subscription", "remove", "ann", "https://feed0.test/rss"]);
  const left = `\n1 user, ${count - 1} subscriptions, `;
  const made = await backup("create");
  expect(made.out).toContain(left);
  const [file = ""] = made.out.split("\n");
  expect((await backup("verify", file)).out).toContain(left);
  expect((await backup("restore", file, "--yes")).out).toContain(left);
});

test("the list of backups has the size of a large one in a unit in which people read it", async () => {
  const { file } = (await backup("create", "--json")).json;
  truncateSync(file, 65 * 1024 ** 3);
  expect((await backup("list")).out).toContain(`\t65 GB\t${file}`);
});

test("a backup directory whose disk is not mounted is an error, not a directory without backups", async () => {
  const gone = join(folder, "not mounted", "podkeep");
  const ran = [await backup("list", "--backup-dir", gone), await backup("prune", "--backup-dir", gone, "--yes")];
  for (const { code, err } of ran) {
    expect({ code, err }).toEqual({
      code: 4,
      err: `error: There is no directory ${gone}: mount its disk, or create it\n`,
    });
  }
});

test("who names a directory for a backup is told to name a file in it", async () => {
  const usb = join(folder, "a stick");
  mkdirSync(usb);
  expect(await backup("create", usb)).toMatchObject({
    code: 1,
    err: `error: ${usb} is a directory: name a file in it (example: ${join(usb, "podkeep.db")})\n`,
  });
  expect(readdirSync(usb)).toEqual([]);
});

test("of backups that are made at once under one name, one is kept, and the others are refused", async () => {
  mkdirSync(join(folder, "usb"));
  const same = join(folder, "usb", "same.db");
  const ran = await Promise.all(Array.from({ length: 3 }, () => backup("create", same)));
  expect(ran.map(({ err }) => err).filter((err) => !err.includes(`${same} exists already`))).toContain("");
  expect(ran.filter(({ code, err }) => code !== 0 && !err.includes(`${same} exists already`))).toEqual([]);
  expect((await backup("verify", same)).code).toBe(0);
  expect(readdirSync(join(folder, "usb"))).toEqual(["same.db"]);
});

test("a backup does not replace a file that got its name while it was made", async () => {
  mkdirSync(join(folder, "usb"));
  const file = join(folder, "usb", "diary.db");
  const other = new Database(join(folder, "podkeep.db"));
  other.run("pragma locking_mode = exclusive");
  other.run("begin exclusive");
  const making = backup("create", file);
  await until(() => readdirSync(join(folder, "usb")).length > 0);
  writeFileSync(file, "dear diary");
  other.run("commit");
  other.close();
  expect(await making).toMatchObject({ code: 1, err: expect.stringContaining(`${file} exists already`) });
  expect(readdirSync(join(folder, "usb"))).toEqual(["diary.db"]);
  expect(readFileSync(file, "utf8")).toBe("dear diary");
});

test("a backup waits for a command that locks the file while it ends", async () => {
  const other = new Database(join(folder, "podkeep.db"));
  other.run("pragma locking_mode = exclusive");
  other.run("begin exclusive");
  let ended = false;
  const making = backup("create").finally(() => {
    ended = true;
  });
  await until(() => ended || made().length > 0);
  other.run("commit");
  other.close();
  expect(await making).toMatchObject({ code: 0, err: "" });
});

test("a backup of a database that the server is just creating says to try again", async () => {
  const created = openProgram();
  writeFileSync(join(created.data, "podkeep.db"), "");
  const { code, err } = await created.run(["backup", "create"]);
  expect([code, err]).toEqual([1, expect.stringContaining("podkeep.db holds nothing yet: try again")]);
  expect(existsSync(join(created.data, "backups")) ? readdirSync(join(created.data, "backups")) : []).toEqual([]);
  created.close();
});

test("a backup is restored from a pipe", async () => {
  const file = join(folder, "copy.db");
  await backup("create", file);
  const piped = openProgram(["bash", "-c", `exec "$@" <(cat ${file})`, "bash", ...PROGRAM]);
  const { code, err } = await piped.run(["backup", "restore", "--yes"]);
  expect([code, err]).toEqual([0, ""]);
  piped.close();
});

test("a restore needs the server stopped", async () => {
  const file = join(folder, "copy.db");
  await backup("create", file);
  const server = await podkeep.serve();
  const refused = await backup("restore", file, "--yes");
  expect(refused).toMatchObject({ code: 1, out: "" });
  expect(refused.err).toMatch(/^error: A podkeep server .* uses .*: stop it first\n$/);
  await server.stop();
  const { code, json } = await backup("restore", file, "--yes", "--json");
  expect(code).toBe(0);
  expect(json.tables.subscriptions).toBe(count);
});

test("a restore waits for the end of a command that began while the server ran", async () => {
  const file = join(folder, "copy.db");
  await backup("create", file);
  const server = await podkeep.serve();
  const command = await openApp(readConfig({ data_dir: folder }, {}).config);
  await server.stop();
  const refused = await backup("restore", file, "--yes");
  await createUser(command, "bob");
  await command.close();
  expect((await podkeep.run(["user", "list"])).out).toContain("bob");
  expect(refused.err).toMatch(/^error: A podkeep server or another command uses .*: stop it first\n$/);
  expect((await backup("restore", file, "--yes")).code).toBe(0);
});

test("the database is restored from its own file, as after an image of the disk was written back", async () => {
  const file = join(folder, "podkeep.db");
  const latest = (path: string) => {
    const sqlite = new Database(path, { readonly: true });
    const [row] = sqlite.query<{ clock: number }, []>("select clock from users").all();
    sqlite.close();
    return row?.clock ?? 0;
  };
  const before = latest(file);
  const { code, json } = await backup("restore", file, "--yes", "--json");
  expect([code, json.tables.subscriptions]).toEqual([0, count]);
  expect(latest(file)).toBeGreaterThan(before + 24 * 60 * 60 * 1000);
  expect(latest(join(json.replaced, "podkeep.db"))).toBe(before);
});

test("a restore asks before it replaces data, and does not ask if there is none", async () => {
  const file = join(folder, "copy.db");
  await backup("create", file);
  const before = statSync(join(folder, "podkeep.db")).ino;
  expect(await backup("restore", file)).toMatchObject({ code: 2, err: expect.stringContaining("--yes") });
  expect(await backup("restore", "missing.db")).toMatchObject({ code: 4, err: "error: There is no file missing.db\n" });
  const asked = podkeep.spawnOnTerminal(["backup", "restore", file, "--data-dir", folder]);
  await asked.screen(/Replace the data in .* with .*copy\.db\? \[y\/N\]/);
  asked.type("n\n");
  expect((await asked.ended()).code).toBe(1);
  expect(statSync(join(folder, "podkeep.db")).ino).toBe(before);
  const empty = join(folder, "elsewhere");
  const { code, out } = await podkeep.run(["backup", "restore", file, "--data-dir", empty]);
  expect(code).toBe(0);
  expect(out).toContain(`Restored ${file} into ${empty}\n`);
  expect(out).toContain("tokens revoked");
});

test("a restore on another machine says which of its users are gone, and whose name the backup's user has", async () => {
  const file = join(folder, "copy.db");
  await backup("create", file);
  const other = openProgram();
  for (const name of ["ann", "bob"]) await other.run(["user", "create", name]);
  const { out } = await other.run(["backup", "restore", file, "--yes"]);
  expect(out).toContain("\nNot in the backup, and gone: ann (the backup has another user of that name), bob\n");
  other.close();
});

test("a killed server does not prevent a restore", async () => {
  const file = join(folder, "copy.db");
  await backup("create", file);
  const server = await podkeep.serve();
  server.child.kill("SIGKILL");
  await server.child.exited;
  expect((await backup("restore", file, "--yes")).code).toBe(0);
});

test("a second server on the same data directory is refused", async () => {
  const server = await podkeep.serve();
  const second = await podkeep.run(["serve", "--port", "0"]);
  expect(second.code).toBe(1);
  expect(second.err).toMatch(/^error: Another podkeep server.*\n$/);
  await server.stop();
});

test("the server makes a missed backup at its start and keeps the newest", async () => {
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

test("a scheduled backup without users says so in the log", async () => {
  await podkeep.run(["user", "delete", "ann", "--yes"]);
  const server = await podkeep.serve(["--backup-schedule", "0 0 1 1 *"]);
  const log = await server.until("it has no users");
  expect(log).toContain('"level":"warn"');
  await server.stop();
});

test("with the database lost beside its backups, the server and every command are exit code 3 and say what to do", async () => {
  const { file } = (await backup("create", "--json")).json;
  renameSync(join(folder, "podkeep.db"), join(folder, "moved.db"));
  const commands = [
    ["serve", "--port", "0"],
    ["user", "list"],
    ["user", "create", "bob"],
    ["migrate"],
    ["backup", "create"],
  ];
  for (const args of commands) {
    const { code, err } = await podkeep.run(args);
    expect([args, code]).toEqual([args, 3]);
    expect(err).toContain(`podkeep.db is missing, but ${file} exists. Check that its disk is mounted`);
  }
  expect(readdirSync(folder)).not.toContain("podkeep.db");
  const { code, out } = await podkeep.run(["doctor", "--port", "1", "--json"]);
  const findings: Finding[] = JSON.parse(out);
  const detail = expect.stringContaining(file);
  expect(code).toBe(1);
  expect(findings.find(({ about }) => about === "database")).toMatchObject({ state: "problem", detail });
  expect((await backup("restore", file)).code).toBe(0);
  expect((await podkeep.run(["user", "list"])).out).toContain("ann");
});

test("the server starts without a readable backup directory, and logs that the backup failed", async () => {
  const notFolder = join(folder, "podkeep.db");
  const server = await podkeep.serve(["--backup-schedule", "0 0 1 1 *", "--backup-dir", notFolder]);
  const log = await server.until("backup failed");
  const line = log.split("\n").find((text) => text.includes("backup failed")) ?? "";
  expect(JSON.parse(line).reason).toBe(`${notFolder} can't be read: a part of the path is not a directory`);
  await server.stop();
});

test("the server doesn't start with an invalid schedule", async () => {
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

test("a backup on a full disk fails without leaving files", async () => {
  const { code, err } = await onFullDisk("backup", "create");
  expect([code, made()]).toEqual([1, []]);
  expect(err).toMatch(/^error: .* can't be written: .*\n$/);
  expect((await backup("create")).code).toBe(0);
});

test("a damaged database is not backed up, and the error names its file", async () => {
  const file = join(folder, "podkeep.db");
  const damaged = readFileSync(file).fill(0xa5, 8192);
  writeFileSync(file, damaged);
  const { code, err } = await backup("create");
  expect([code, err, made()]).toEqual([3, expect.stringMatching(/^error: .*podkeep\.db is damaged .*\n$/), []]);
  expect(readFileSync(file)).toEqual(damaged);
});

test("a restore on a full disk leaves the data unchanged", async () => {
  const file = join(folder, "copy.db");
  await backup("create", file);
  const before = await Bun.file(join(folder, "podkeep.db")).bytes();
  const { code, err } = await onFullDisk("backup", "restore", file, "--yes");
  expect(code).toBe(1);
  expect(err).toMatch(/^error: .*\n$/);
  expect(await Bun.file(join(folder, "podkeep.db")).bytes()).toEqual(before);
  expect(readdirSync(folder).filter((name) => name.startsWith("re"))).toEqual([]);
});

test("a backup is not made in a directory that is missing, as below a disk that is not mounted", async () => {
  const { code, err } = await backup("create", join(folder, "usb", "copy.db"));
  expect([code, err]).toEqual([
    4,
    `error: There is no directory ${join(folder, "usb")}: mount its disk, or create it\n`,
  ]);
  expect(existsSync(join(folder, "usb"))).toBe(false);
});

test("the exit code distinguishes wrong, existing and missing files", async () => {
  const file = join(folder, "copy.db");
  writeFileSync(file, "rubbish");
  expect((await backup("verify", file)).code).toBe(2);
  expect((await backup("restore", file, "--yes")).code).toBe(2);
  expect((await backup("create", file)).code).toBe(1);
  expect((await backup("verify", join(folder, "none.db"))).code).toBe(4);
  expect((await backup("prune", "--keep", "some")).code).toBe(2);
  expect((await backup("prune", "--keep", "1")).err).toContain("--yes");
  expect((await backup("create", "--data-dir", join(folder, "elsewhere"))).code).toBe(4);
});
