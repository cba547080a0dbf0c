// Commands on PostgreSQL: migrate, copy, and databases that can't be opened.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openApp } from "../../../src/app.ts";
import { systemClock } from "../../../src/clock.ts";
import { readConfig } from "../../../src/config/settings.ts";
import { SCHEMA_VERSION } from "../../../src/db/migrations/migrate.ts";
import { openDatabase } from "../../../src/db/open.ts";
import { MIGRATION_LOCK } from "../../../src/db/postgres/upgrade.ts";
import { writeNothing } from "../../../src/db/statement.ts";
import { compareClocks } from "../../../src/doctor/clock.ts";
import { createUser, listUsers } from "../../../src/services/accounts/users.ts";
import { databaseFile, sharedPostgres } from "../../support/database.ts";
import { addFeeds } from "../../support/feeds.ts";
import { PATIENCE, until } from "../../support/patience.ts";
import { PROGRAM } from "../../support/program.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";

setDefaultTimeout(PATIENCE);

const folder = mkdtempSync(join(tmpdir(), "podkeep-commands-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function podkeep(args: string[], env: Record<string, string> = {}) {
  const child = Bun.spawn([...PROGRAM, ...args], {
    env: { PODKEEP_DATA_DIR: folder, ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, out, err };
}

let count = 0;
async function newDatabase(): Promise<string> {
  const server = await sharedPostgres();
  const name = `commands${++count}`;
  await server.createDatabase(name);
  return server.url(name);
}

test("with PODKEEP_MIGRATE=command, serve refuses an empty database and migrate creates its schema", async () => {
  const env = { PODKEEP_DATABASE_URL: await newDatabase(), PODKEEP_MIGRATE: "command" };
  const before = await podkeep(["serve", "--port", "0"], env);
  expect(before.code).toBe(3);
  expect(before.err).toContain("run podkeep migrate");
  const commands = await Promise.all([podkeep(["migrate", "--json"], env), podkeep(["migrate", "--json"], env)]);
  for (const { code, out } of commands) {
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({ schema: SCHEMA_VERSION });
  }
  const { config } = readConfig({}, env);
  await (await openApp(config)).close();
});

test("a command that migrates and writes opens one connection, with the limits of all", async () => {
  const proxy = await startTcpProxy((await sharedPostgres()).port);
  const url = new URL(await newDatabase());
  url.port = String(proxy.port);
  const options = { busy_timeout: 0, database_pool: 10, database_timeout: 7000, backup_dir: null } as const;
  const database = await openDatabase({ url: url.href }, { ...options, use: "command", migrate: "start" });
  await database.write((tx) => writeNothing(tx, {}));
  const [limit] = await database.read((tx) => tx.execute({ sql: "show statement_timeout", parameters: [] }));
  expect(limit).toEqual({ statement_timeout: "7s" });
  await database.close();
  expect(proxy.accepted).toBe(1);
  proxy.close();
});

const WAITING = "select 1 from pg_locks where locktype = 'advisory' and not granted";

test("a migration waits for another server's, with any time limits of the database and its own", async () => {
  const url = await newDatabase();
  const other = (await sharedPostgres()).connect(url.split("/").at(-1));
  const limits = await other.unsafe(`select format('alter database %I set %s = 500', current_database(), name) as set
    from pg_settings where name in ('lock_timeout', 'transaction_timeout')`);
  for (const { set } of limits) await other.unsafe(set);
  await other.unsafe(`select pg_advisory_lock(${MIGRATION_LOCK})`);
  const migrated = podkeep(["migrate"], { PODKEEP_DATABASE_URL: url, PODKEEP_DATABASE_TIMEOUT: "1s" });
  await until(async () => (await other.unsafe(WAITING)).length > 0);
  await Bun.sleep(1500);
  await other.unsafe(`select pg_advisory_unlock(${MIGRATION_LOCK})`);
  await other.close();
  expect(await migrated).toMatchObject({ code: 0, err: "" });
});

test("a program that waited while a newer one migrated says that it is older", async () => {
  const url = await newDatabase();
  const other = (await sharedPostgres()).connect(url.split("/").at(-1));
  await other.unsafe(`select pg_advisory_lock(${MIGRATION_LOCK})`);
  const migrated = podkeep(["migrate"], { PODKEEP_DATABASE_URL: url });
  await until(async () => (await other.unsafe(WAITING)).length > 0);
  await other
    .unsafe(
      "create table podkeep_migration (name text, timestamp text); insert into podkeep_migration values ('9999_x')",
    )
    .simple();
  await other.unsafe(`select pg_advisory_unlock(${MIGRATION_LOCK})`);
  await other.close();
  expect((await migrated).err).toContain("The database has schema version 9999_x");
});

test("only serve and migrate change an older schema: servers of its version may still run on it", async () => {
  const url = await newDatabase();
  const env = { PODKEEP_DATABASE_URL: url };
  expect(await podkeep(["user", "create", "ann"], env)).toMatchObject({ code: 0 });
  const other = (await sharedPostgres()).connect(url.split("/").at(-1));
  // Their tables are there, so the first of them fails.
  await other`delete from podkeep_migration where name >= '0022_episode_moves'`;
  await other.close();
  expect(await podkeep(["user", "list"], env)).toMatchObject({
    code: 3,
    err: expect.stringContaining(`this program needs ${SCHEMA_VERSION}: run podkeep migrate`),
  });
  expect(await podkeep(["migrate"], env)).toMatchObject({ err: expect.stringContaining("could not be migrated") });
});

test("a migration gives up while a dump reads the tables: older servers' requests wait behind it", async () => {
  const url = await newDatabase();
  const env = { PODKEEP_DATABASE_URL: url, PODKEEP_DATABASE_TIMEOUT: "1s" };
  expect(await podkeep(["migrate"], env)).toMatchObject({ code: 0 });
  const other = (await sharedPostgres()).connect(url.split("/").at(-1));
  await other.unsafe("delete from podkeep_migration where name >= '0023'");
  await other.unsafe("begin");
  await other.unsafe("lock table users, subscriptions, guids in access share mode");
  const migrated = await podkeep(["migrate"], env);
  await other.unsafe("commit");
  await other.close();
  expect(migrated).toMatchObject({ code: 1, err: expect.stringContaining("while another program, such as pg_dump") });
});

test("copy prints what it copied, and exits with 1 if the target is not empty", async () => {
  const { config } = readConfig({ data_dir: join(folder, "source") }, {});
  const source = await openApp(config);
  const { id } = await createUser(source, "ann");
  await addFeeds(source, id, ["https://a.example/"]);
  await source.close();
  const to = await newDatabase();
  const copied = await podkeep(["copy", "--from", databaseFile(config), "--to", to, "--json"]);
  expect(copied).toMatchObject({ code: 0, err: "" });
  expect(JSON.parse(copied.out).counts).toMatchObject({
    users: 1,
    tokens: 0,
    subscriptions: 1,
    guids: 1,
    feeds: 1,
    deletions: 0,
  });
  const target = await openApp(readConfig({ database_url: to }, {}).config);
  expect(await listUsers(target)).toMatchObject([{ name: "ann", subscriptions: 1 }]);
  await createUser(target, "bob");
  await target.close();
  const again = await podkeep(["copy", "--from", databaseFile(config), "--to", to]);
  expect(again.code).toBe(1);
  expect(again.err).toContain("the target was not empty");
});

test("a copy that was killed continues when it is run again", async () => {
  const { config } = readConfig({ data_dir: join(folder, "large") }, {});
  const source = await openApp(config);
  const users = await Promise.all(Array.from({ length: 400 }, (_, n) => createUser(source, `user${n}`)));
  const feeds = Array.from({ length: 30 }, (_, n) => `https://a.example/${n}`);
  await Promise.all(users.map(({ id }) => addFeeds(source, id, feeds)));
  await source.close();
  const url = await newDatabase();
  const target = await openApp(readConfig({ database_url: url }, {}).config);
  const holder = (await sharedPostgres()).connect(url.split("/").at(-1));
  // From some users on the copy waits in the middle of a user: it is killed there, however slow the machine is.
  await holder
    .unsafe(`create function hold() returns trigger language plpgsql as $$ begin
        if (select count(*) from users) >= 10 then perform pg_advisory_xact_lock_shared(1); end if; return null; end $$;
      create trigger hold after insert on subscriptions execute function hold();
      select pg_advisory_lock(1)`)
    .simple();
  const first = Bun.spawn([...PROGRAM, "copy", "--from", databaseFile(config), "--to", url], { stdout: "ignore" });
  await until(async () => (await holder.unsafe(WAITING)).length > 0);
  first.kill("SIGKILL");
  await first.exited;
  await holder.close();
  // In one read: the database may still commit what the killed process sent.
  const arrived = await listUsers(target);
  expect(arrived.filter((user) => user.subscriptions !== 30)).toEqual([]);
  expect(arrived.length).toBeGreaterThan(0);
  expect(arrived.length).toBeLessThan(400);
  await target.close();
  const second = await podkeep(["copy", "--from", databaseFile(config), "--to", url, "--json"]);
  expect(second.err).toBe("");
  expect(JSON.parse(second.out).counts).toMatchObject({ users: 400, subscriptions: 12_000, feeds: 12_000 });
});

test("two copies at once into one database both finish", async () => {
  const { config } = readConfig({ data_dir: join(folder, "twice") }, {});
  const source = await openApp(config);
  await Promise.all(["ann", "bob"].map(async (name) => addFeeds(source, (await createUser(source, name)).id, [])));
  await source.close();
  // A file has one reader that copies: on PostgreSQL, podkeep doesn't see others.
  const [from, to] = [await newDatabase(), await newDatabase()];
  expect(await podkeep(["copy", "--from", databaseFile(config), "--to", from])).toMatchObject({ code: 0 });
  const other = (await sharedPostgres()).connect(to.split("/").at(-1));
  const waiting = (count: number) => until(async () => (await other.unsafe(WAITING)).length >= count);
  // Both migrate and then copy the first user at the same time.
  await other.unsafe(`select pg_advisory_lock(${MIGRATION_LOCK})`);
  const copies = [1, 2].map(() => podkeep(["copy", "--from", from, "--to", to]));
  await waiting(2);
  await other.unsafe(`select pg_advisory_unlock(${MIGRATION_LOCK})`);
  for (const { code, err } of await Promise.all(copies)) expect([code, err]).toEqual([0, ""]);
  await other.close();
});

test("the doctor names a PostgreSQL that only reads, as a standby does, and commands say so", async () => {
  const url = await newDatabase();
  const env = { PODKEEP_DATABASE_URL: url };
  await podkeep(["migrate"], env);
  const admin = (await sharedPostgres()).connect();
  await admin.unsafe(`alter database ${url.split("/").at(-1)} set default_transaction_read_only = on`);
  await admin.close();
  const reason = "PostgreSQL can't be used now: cannot execute";
  const { out } = await podkeep(["doctor", "--json"], env);
  expect(JSON.parse(out)).toContainEqual(
    expect.objectContaining({ about: "database", state: "problem", detail: expect.stringContaining(reason) }),
  );
  expect(await podkeep(["user", "create", "ann"], env)).toMatchObject({
    code: 1,
    err: expect.stringContaining(reason),
  });
});

test("the doctor names the settings of PostgreSQL by which a crash loses acknowledged changes", async () => {
  const url = await newDatabase();
  await podkeep(["migrate"], { PODKEEP_DATABASE_URL: url });
  // The server of the tests has all of them off.
  for (const [parameters, off] of [
    ["", "fsync, full_page_writes, synchronous_commit"],
    ["?synchronous_commit=on", "fsync, full_page_writes"],
  ]) {
    const { out } = await podkeep(["doctor", "--json"], { PODKEEP_DATABASE_URL: url + parameters });
    const detail = `off in PostgreSQL: ${off}. A crash loses acknowledged changes`;
    expect(JSON.parse(out)).toContainEqual(expect.objectContaining({ about: "durability", state: "warning", detail }));
  }
});

test("the doctor says if this machine's clock is not PostgreSQL's, so that several servers have one time", async () => {
  const url = await newDatabase();
  await podkeep(["migrate"], { PODKEEP_DATABASE_URL: url });
  const { out } = await podkeep(["doctor", "--json"], { PODKEEP_DATABASE_URL: url });
  expect(JSON.parse(out)).toContainEqual(expect.objectContaining({ about: "PostgreSQL's clock", state: "ok" }));
  for (const ahead of [-3_600_000, 3_600_000]) {
    const clock = { ...systemClock, now: () => Date.now() + ahead };
    const app = await openApp(readConfig({ database_url: url }, {}).config, { clock });
    const detail = expect.stringMatching(/^3[56]\d\d seconds from this machine's$/);
    expect(await compareClocks(app)).toMatchObject({ state: "warning", detail });
    await app.close();
  }
});

test("a file that a server uses is not copied", async () => {
  const { config } = readConfig({ data_dir: join(folder, "served") }, {});
  const server = await openApp(config, { use: "server" });
  const refused = await podkeep(["copy", "--from", databaseFile(config), "--to", await newDatabase()]);
  await server.close();
  expect(refused.code).toBe(1);
  expect(refused.err).toContain("stop it first");
});

test.each([
  ["postgres://podkeep:correct-horse@db:port/x", "example: postgres://user:password@host", 3],
  [
    "postgres://podkeep:correct-horse@127.0.0.1:1/x",
    "PostgreSQL at 127.0.0.1:1 can't be reached: connection refused",
    1,
  ],
])("serve and copy with %s: one line without the password", async (url, line, exitCode) => {
  const commands = [
    podkeep(["serve", "--database-url", url, "--port", "0"]),
    podkeep(["copy", "--from", url, "--to", url]),
  ];
  for (const { code, out, err } of await Promise.all(commands)) {
    expect(code).toBe(exitCode);
    expect(err.trim().split("\n")).toHaveLength(1);
    expect(err).toContain(line);
    expect(out + err).not.toContain("correct-horse");
  }
});
