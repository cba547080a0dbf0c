// PostgreSQL behind PgBouncer.
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { SQL } from "bun";
import { openDatabase } from "../../../src/db/open.ts";
import { MIGRATION_LOCK } from "../../../src/db/postgres/upgrade.ts";
import { readAnything, type Tx } from "../../../src/db/statement.ts";
import type { Finding } from "../../../src/doctor/finding.ts";
import { sharedPostgres } from "../../support/database.ts";
import { freePort } from "../../support/free-port.ts";
import { PATIENCE, until } from "../../support/patience.ts";
import { openProgram } from "../../support/program.ts";
import { rejectionOf } from "../../support/rejection.ts";
import { track } from "../../support/start-server.ts";

setDefaultTimeout(PATIENCE);

const program = Bun.which("pgbouncer", { PATH: `${process.env["PATH"]}:/usr/sbin` });
if (!program) console.log("PgBouncer: skipped, install pgbouncer");

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** Starts PgBouncer in front of a new database, and returns the URL. */
async function startPgBouncer(...settings: string[]): Promise<string> {
  const server = await sharedPostgres();
  const name = `bouncer_${opened.length}_${Date.now()}`;
  await server.createDatabase(name);
  const port = await freePort();
  const { username, password } = new URL(server.url(name));
  const file = join(mkdtempSync(join(tmpdir(), "podkeep-pgbouncer-")), "pgbouncer.ini");
  const login = `user=${username} password='${decodeURIComponent(password)}'`;
  const lines = [
    "[databases]",
    `* = host=127.0.0.1 port=${server.port} ${login}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    // On by default in later versions, unknown to earlier ones.
    ...(knowsPrepared() ? ["max_prepared_statements = 0"] : []),
    ...settings,
  ];
  writeFileSync(file, lines.join("\n"));
  chmodSync(dirname(file), 0o755);
  const options = process.getuid?.() === 0 ? ["--user", "nobody"] : [];
  const child = track(Bun.spawn([program ?? "", ...options, file], { stdout: "ignore", stderr: "ignore" }));
  opened.push(() => child.kill("SIGKILL"));
  for (;;) {
    const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } }).catch(() => null);
    socket?.end();
    if (socket) return `postgres://${username}@127.0.0.1:${port}/${name}`;
    if (child.exitCode !== null) throw new Error(`PgBouncer ended with ${child.exitCode}`);
    await Bun.sleep(20);
  }
}

function knowsPrepared(): boolean {
  const [, major, minor] = /(\d+)\.(\d+)/.exec(Bun.spawnSync([program ?? "", "--version"]).stdout.toString()) ?? [];
  return Number(major) > 1 || Number(minor) >= 21;
}

const PARAMETERS = "ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout";

function openOn(url: string) {
  const podkeep = openProgram(undefined, { PODKEEP_DATABASE_URL: url });
  opened.push(() => podkeep.close());
  return podkeep;
}

/** What the doctor says about the database. */
async function diagnose(podkeep: ReturnType<typeof openOn>): Promise<Finding | undefined> {
  const { out } = await podkeep.run(["doctor", "--json"]);
  const findings: Finding[] = JSON.parse(out);
  return findings.find(({ about }) => about === "database");
}

/** The settings of transaction mode; null if PgBouncer is older than it needs to be. */
const TRANSACTION = program && knowsPrepared() ? ["pool_mode = transaction", "max_prepared_statements = 200"] : null;
if (program && !TRANSACTION) console.log("PgBouncer in transaction mode: skipped, needs 1.21");

test.skipIf(!program).each([["pool_mode = session"], ...(TRANSACTION ? [TRANSACTION] : [])])(
  "with %s it works",
  async (...settings) => {
    const podkeep = openOn(await startPgBouncer(PARAMETERS, ...settings));
    for (const name of ["ann", "bob"]) {
      expect(await podkeep.run(["user", "create", name])).toMatchObject({ code: 0, err: "" });
    }
    expect(await diagnose(podkeep)).toMatchObject({ state: "ok" });
  },
);

/** A table behind PgBouncer with one connection to PostgreSQL. `open` gives a server's read of it. */
async function startInTransactionMode() {
  const more = ["default_pool_size = 1", "server_check_delay = 0", "admin_users = postgres"];
  const url = await startPgBouncer(PARAMETERS, ...(TRANSACTION ?? []), ...more);
  const name = url.split("/").at(-1) ?? "";
  const postgres = (await sharedPostgres()).connect(name);
  await postgres.unsafe(`alter database ${name} set statement_timeout = '1s'`);
  const open = async () => {
    const options = { busy_timeout: 0, database_pool: 1, database_timeout: 1000, backup_dir: null } as const;
    const database = await openDatabase({ url }, { ...options, use: "command", migrate: "start" });
    opened.push(() => database.close());
    const query = { sql: "select n from numbers where n > $1", parameters: [0] };
    return () => database.read((tx) => tx.execute(query));
  };
  const read = await open();
  await postgres.unsafe("create table numbers as select 1 as n").simple();
  expect(await read()).toEqual([{ n: 1 }]);
  return { url, name, postgres, open, read };
}

test.skipIf(!TRANSACTION)(
  "in transaction mode, a read that timed out behind a migration has its data later",
  async () => {
    const { postgres, open } = await startInTransactionMode();
    // PgBouncer says that its statement is prepared, as it is for the first one.
    const read = await open();
    await postgres.unsafe("begin; lock table numbers").simple();
    expect(await rejectionOf(read())).toMatchObject({ code: "unavailable" });
    await postgres.unsafe("commit");
    await postgres.close();
    expect(await read()).toEqual([{ n: 1 }]);
  },
);

test.skipIf(!TRANSACTION)(
  "in transaction mode, a migration that changes types needs RECONNECT, and the error says so",
  async () => {
    const { url, name, postgres, read } = await startInTransactionMode();
    await postgres.unsafe("alter table numbers alter column n type bigint");
    await postgres.close();
    const message = expect.stringContaining("run RECONNECT in its console");
    expect(await rejectionOf(read())).toMatchObject({ code: "unavailable", message, extras: { retry_after: 5 } });
    const admin = new SQL({ url: url.replace(name, "pgbouncer"), max: 1 });
    await admin.unsafe("reconnect").simple();
    await admin.close();
    expect(await read()).toEqual([{ n: 1 }]);
  },
);

test.skipIf(!program)(
  "in transaction mode without prepared statements, the server and the doctor say what to set",
  async () => {
    const podkeep = openOn(await startPgBouncer("pool_mode = transaction", PARAMETERS));
    const ran = await podkeep.run(["serve", "--port", "0"]);
    const what = "PgBouncer mixes up prepared statements";
    const advice = "set max_prepared_statements = 200 (needs PgBouncer 1.21), or pool_mode = session";
    expect(ran).toMatchObject({ code: 1, err: expect.stringContaining(`${what}: ${advice}`) });
    const detail = expect.stringContaining(`can't be used. ${what}`);
    expect(await diagnose(podkeep)).toMatchObject({ state: "problem", detail, advice: `In PgBouncer, ${advice}` });
  },
);

/** Opens the database as a server with two connections does. */
async function openAsServer(url: string) {
  const options = { busy_timeout: 0, database_pool: 2, database_timeout: PATIENCE, backup_dir: null } as const;
  const database = await openDatabase({ url }, { ...options, use: "server", migrate: "start" });
  opened.push(() => database.close());
  return database;
}

test
  .skipIf(!program)
  .each<string[]>([
    ["pool_mode = transaction"],
    ["pool_mode = transaction", "default_pool_size = 1"],
    ["pool_mode = transaction", "server_round_robin = 1", "min_pool_size = 5"],
    ["pool_mode = transaction", "server_check_delay = 0"],
    ["pool_mode = transaction", "server_lifetime = 0"],
    ["pool_mode = transaction", "server_reset_query_always = 1"],
    ["pool_mode = statement"],
  ])("a server does not start where clients run each other's prepared statements: %s", async (...settings) => {
  const message = expect.stringContaining("PgBouncer mixes up prepared statements");
  const opening = openAsServer(await startPgBouncer(PARAMETERS, ...settings));
  expect(await rejectionOf(opening)).toMatchObject({ code: "unavailable", message });
});

test
  .skipIf(!program)
  .each<string[]>([
    ["pool_mode = session", "default_pool_size = 2"],
    ...(TRANSACTION ? [[...TRANSACTION, "default_pool_size = 1"]] : []),
  ])("a server starts where each client has its own prepared statements: %s", async (...settings) => {
  const database = await openAsServer(await startPgBouncer(PARAMETERS, ...settings));
  expect(await database.read((tx) => readAnything(tx, {}))).toEqual([]);
});

const TURNS = ["server_round_robin = 1", "min_pool_size = 5"];

test.skipIf(!program)(
  "once clients run each other's prepared statements, a running server runs none, until PgBouncer has another mode",
  async () => {
    const url = await startPgBouncer(PARAMETERS, ...TURNS, "pool_mode = session", "admin_users = postgres");
    const name = url.split("/").at(-1) ?? "";
    const admin = new SQL({ url: url.replace(name, "pgbouncer"), max: 1 });
    const postgres = (await sharedPostgres()).connect(name);
    opened.push(() => Promise.all([admin.close(), postgres.close()]));
    const database = await openAsServer(url);
    await postgres.unsafe("create table numbers (n int)");
    const insert = (tx: Tx) => tx.execute({ sql: "insert into numbers values ($1::int)", parameters: [1] });
    const { promise: others, resolve: end } = Promise.withResolvers<void>();
    const { promise: isBegun, resolve: begin } = Promise.withResolvers<void>();
    const writing = rejectionOf(
      database.write(async (tx) => {
        await insert(tx);
        begin();
        await others;
        await insert(tx);
      }),
    );
    await isBegun;
    await admin.unsafe("set pool_mode = 'transaction'").simple();
    const message = expect.stringContaining("PgBouncer mixes up prepared statements");
    const refused = { code: "unavailable", message, extras: { retry_after: 5 } };
    // PgBouncer takes turns among its connections, once it has several. The second one waits for the first.
    const run = (sql: string, ...parameters: number[]) => database.write((tx) => tx.execute({ sql, parameters }));
    const failed = await until(async () => {
      const both = await Promise.allSettled([run("select $1::int", 1), run("select 1")]);
      return both[0].status === "rejected" && both;
    });
    expect(failed).toMatchObject([{ reason: refused }, { reason: refused }]);
    // Neither what needs no prepared statement, nor what began before.
    end();
    expect(await Promise.all([rejectionOf(database.check()), writing])).toMatchObject([refused, refused]);
    expect(await postgres.unsafe("select from numbers")).toHaveLength(0);
    await admin.unsafe("set pool_mode = 'session'").simple();
    await until(() =>
      database.write(insert).then(
        () => true,
        () => false,
      ),
    );
    await database.check();
    expect(await postgres.unsafe("select from numbers")).toHaveLength(1);
  },
);

test.skipIf(!program)("without its leave for time limits, commands and the doctor say what to set", async () => {
  const podkeep = openOn(await startPgBouncer("pool_mode = session"));
  const ran = await podkeep.run(["user", "create", "ann"]);
  expect(ran).toMatchObject({ code: 1, err: expect.stringContaining(PARAMETERS) });
  expect(await diagnose(podkeep)).toMatchObject({ state: "problem", advice: `In PgBouncer, set ${PARAMETERS}` });
});

test.skipIf(!program).each([
  ["refused", PARAMETERS],
  ["ignored", `${PARAMETERS},search_path`],
])(
  "a search_path in the URL that is %s is to be set in the database, and tables get there only",
  async (_, settings) => {
    // No client gets a connection that is about to end.
    const url = await startPgBouncer("pool_mode = session", settings, "server_check_delay = 0");
    const name = url.split("/").at(-1) ?? "";
    const setting = `alter role postgres in database ${name} set search_path = own`;
    const asked = openOn(`${url}?search_path=own`);
    const err = expect.stringContaining(setting);
    expect(await asked.run(["user", "create", "ann"])).toMatchObject({ code: 3, err });
    expect(await diagnose(asked)).toMatchObject({ state: "problem", detail: err });
    const postgres = (await sharedPostgres()).connect(name);
    await postgres.unsafe(`create schema own; ${setting}`).simple();
    // Its connections to the server end, after which new ones have the setting.
    const ending = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`;
    await until(async () => (await postgres.unsafe(ending)).length === 0);
    expect(await openOn(url).run(["user", "create", "ann"])).toMatchObject({ code: 0, err: "" });
    const places = await postgres.unsafe("select distinct schemaname from pg_tables where tablename = 'users'");
    await postgres.close();
    expect([...places]).toEqual([{ schemaname: "own" }]);
  },
);

test.skipIf(!program)(
  "a migration may take longer than the time limit that the database has in their place",
  async () => {
    const url = await startPgBouncer("pool_mode = session", PARAMETERS);
    const name = url.split("/").at(-1) ?? "";
    const postgres = (await sharedPostgres()).connect(name);
    await postgres.unsafe(`alter database ${name} set statement_timeout = 500`);
    const other = await postgres.reserve();
    // As a server does that migrates.
    await other.unsafe(`select pg_advisory_lock(${MIGRATION_LOCK})`);
    const migrated = openOn(url).run(["migrate"]);
    await Bun.sleep(2000);
    await other.unsafe(`select pg_advisory_unlock(${MIGRATION_LOCK})`);
    expect(await migrated).toMatchObject({ code: 0, err: "" });
    other.release();
    await postgres.close();
  },
);
