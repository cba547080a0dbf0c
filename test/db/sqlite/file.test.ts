// Opening files: which are created, and which are refused and stay as they were.
import { Database as Sqlite } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrateDatabase, openApp } from "../../../src/app.ts";
import { readConfig } from "../../../src/config/settings.ts";
import type { DatabaseUse } from "../../../src/db/database.ts";
import { SCHEMA_VERSION } from "../../../src/db/migrations/migrate.ts";
import { createUser, listUsers } from "../../../src/services/accounts/users.ts";
import { anyUser } from "../../../src/store/users.ts";
import { addFeeds } from "../../support/feeds.ts";
import { rejectionOf } from "../../support/rejection.ts";

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "podkeep-"));
  file = join(folder, "podkeep.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const configOf = (data_dir = folder) => readConfig({ data_dir }, {}).config;
const open = (data_dir = folder, use: DatabaseUse = "command") => openApp(configOf(data_dir), { use });
const contents = () => Bun.SHA256.hash(readFileSync(file), "hex");

/** A database with 500 subscriptions, on which `change` was run. */
async function makeOurs(change?: string) {
  const app = await open();
  const { id } = await createUser(app, "ann");
  const feeds = Array.from({ length: 500 }, (_, n) => `https://many.example/${n}`);
  await addFeeds(app, id, feeds);
  await app.close();
  const sqlite = new Sqlite(file);
  sqlite.run("pragma wal_checkpoint(truncate)");
  if (change) sqlite.run(change);
  sqlite.close();
}

test("a command waits for another one that locks the file while it ends", async () => {
  await makeOurs();
  const other = new Sqlite(file);
  other.run("pragma locking_mode = exclusive");
  other.run("begin exclusive");
  const opening = open();
  await Bun.sleep(100);
  other.run("commit");
  other.close();
  const app = await opening;
  expect(await listUsers(app)).toHaveLength(1);
  await app.close();
});

async function expectRefused(message: string, opening: () => Promise<unknown> = open) {
  const before = contents();
  expect(await rejectionOf(opening())).toMatchObject({ code: "config", message: expect.stringContaining(message) });
  expect(contents()).toBe(before);
}

test("only the owner can read the directory and the files", async () => {
  const inner = join(folder, "a", "b");
  const app = await open(inner);
  await createUser(app, "ann");
  expect(statSync(inner).mode & 0o777).toBe(0o700);
  const files = readdirSync(inner).sort();
  expect(files).toEqual(["podkeep.db", "podkeep.db-shm", "podkeep.db-wal", "podkeep.lock"]);
  for (const name of files) expect(statSync(join(inner, name)).mode & 0o777).toBe(0o600);
  await app.close();
});

test("an empty file becomes a database", async () => {
  writeFileSync(file, "");
  const app = await open();
  await createUser(app, "ann");
  await app.close();
});

test("a closed database opens again with all its data", async () => {
  await makeOurs();
  const app = await open();
  expect(await listUsers(app)).toMatchObject([{ name: "ann", subscriptions: 500 }]);
  await app.close();
});

test("a closed database is one file: the write-ahead log was moved into it", async () => {
  const app = await open();
  const { id } = await createUser(app, "ann");
  await addFeeds(app, id, ["https://a.example/"]);
  await app.close();
  expect(readdirSync(folder).sort()).toEqual(["podkeep.db", "podkeep.lock"]);
});

test("several apps can create the same file at once", async () => {
  const apps = await Promise.all([open(), open(), open()]);
  await createUser(apps[0], "ann");
  for (const app of apps) expect(await listUsers(app)).toHaveLength(1);
  for (const app of apps) await app.close();
});

test("a file that can't be opened as a database is closed again", async () => {
  writeFileSync(file, "These are my podcasts:\n".repeat(500));
  expect(await rejectionOf(open())).toMatchObject({ code: "config" });
  const { ino } = statSync(file);
  const inode = (fd: string) => statSync(`/proc/self/fd/${fd}`, { throwIfNoEntry: false })?.ino;
  expect(readdirSync("/proc/self/fd").filter((fd) => inode(fd) === ino)).toEqual([]);
});

/** Overwrites the last page, which belongs to an index or a table of subscriptions. */
function damage() {
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.fill(0xa5, bytes.length - 4096));
}

test("commands don't check the whole file", async () => {
  await makeOurs();
  damage();
  const app = await open();
  expect(await app.database.read((tx) => anyUser(tx, {}))).toHaveLength(1);
  await app.close();
});

describe("is refused and stays as it was:", () => {
  test("a database of a newer program, with both versions in the error", async () => {
    await makeOurs("insert into podkeep_migration (name, timestamp) values ('9999_future', '')");
    await expectRefused(`The database has schema version 9999_future, this program knows up to ${SCHEMA_VERSION}`);
  });

  test("a database of another program", async () => {
    const sqlite = new Sqlite(file);
    sqlite.run("create table songs (title text)");
    sqlite.close();
    await expectRefused(`${file} is not a podkeep database`);
  });

  test("a database of another program in WAL mode", async () => {
    const sqlite = new Sqlite(file);
    sqlite.run("pragma journal_mode = wal");
    sqlite.run("create table songs (title text)");
    sqlite.close();
    await expectRefused(`${file} is not a podkeep database`);
  });

  test("a file that is not a database", async () => {
    writeFileSync(file, "These are my podcasts:\n".repeat(500));
    await expectRefused(`${file} is not a SQLite database`);
  });

  test("a damaged database, by the server", async () => {
    await makeOurs();
    damage();
    await expectRefused("is damaged", () => open(folder, "server"));
  });

  test("a damaged database, by `podkeep migrate`", async () => {
    await makeOurs(`delete from podkeep_migration where name = '${SCHEMA_VERSION}'`);
    damage();
    await expectRefused("is damaged", () => migrateDatabase(configOf()));
  });

  test("a database that was cut off", async () => {
    await makeOurs();
    writeFileSync(file, readFileSync(file).subarray(0, 10_000));
    await expectRefused("is damaged");
    await expectRefused("is damaged", () => open(folder, "server"));
  });

  test("a directory in place of the file, and a file in place of the directory", async () => {
    mkdirSync(file);
    expect(await rejectionOf(open())).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("it is a directory"),
    });
    const blocked = join(folder, "file");
    writeFileSync(blocked, "mine");
    expect(await rejectionOf(open(blocked))).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("data directory"),
    });
    expect(readFileSync(blocked, "utf8")).toBe("mine");
  });

  test("one whose migration fails: nothing of it is left", async () => {
    await makeOurs("delete from podkeep_migration");
    const schema = () => {
      const sqlite = new Sqlite(file);
      const rows = sqlite.query("select name, sql from sqlite_schema where name <> 'users' order by name").all();
      sqlite.close();
      return rows;
    };
    const change = new Sqlite(file);
    change.run("pragma foreign_keys = on");
    change.run("delete from users");
    change.run("drop table users");
    change.close();
    const before = schema();
    expect(await rejectionOf(open())).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("could not be migrated: table"),
    });
    expect(schema()).toEqual(before);
    const sqlite = new Sqlite(file);
    expect(sqlite.query("select name from sqlite_schema where name = 'users'").all()).toEqual([]);
    sqlite.close();
  });
});
