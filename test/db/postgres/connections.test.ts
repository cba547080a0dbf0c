// Responses while PostgreSQL connections are busy, cut off or silent.
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chownSync, mkdtempSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type App, openApp } from "../../../src/app.ts";
import type { Clock } from "../../../src/clock.ts";
import { readAnything, writeNothing } from "../../../src/db/statement.ts";
import { examine } from "../../../src/doctor/doctor.ts";
import { hashText } from "../../../src/domain/text-keys.ts";
import { isRefusal, messageOf } from "../../../src/errors.ts";
import { createMetricsEndpoint } from "../../../src/http/metrics.ts";
import { createLogger, type LogLine, silentLogger } from "../../../src/log.ts";
import { issueToken, revokeToken } from "../../../src/services/accounts/tokens.ts";
import { deleteUser } from "../../../src/services/accounts/user-deletion.ts";
import { listUsers } from "../../../src/services/accounts/users.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import { pruneClients } from "../../../src/services/devices/clients.ts";
import { forgetDevice } from "../../../src/services/devices/devices.ts";
import { listHistory } from "../../../src/services/subscriptions/history.ts";
import { insertUser } from "../../../src/store/users.ts";
import { type Answer, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { createAuthority, type Tls } from "../../support/certificates.ts";
import { sharedPostgres } from "../../support/database.ts";
import { addFeeds } from "../../support/feeds.ts";
import { freePort } from "../../support/free-port.ts";
import { PATIENCE, until, WAIT } from "../../support/patience.ts";
import { rejectionOf, settle } from "../../support/rejection.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";

setDefaultTimeout(PATIENCE);

let app: TestApp;
let name = "";
let count = 0;
afterEach(() => app.close());

async function open(...[settings, options]: Parameters<typeof openTestApp>): Promise<TestApp> {
  const server = await sharedPostgres();
  name = `connections${++count}`;
  await server.createDatabase(name, "migrated");
  const opening = () => openTestApp({ database_url: server.url(name), ...settings }, options);
  // A slow machine takes longer to connect than some of the tests let it.
  app = await until(() =>
    opening().catch((error) => {
      if (!isRefusal(error, "unavailable")) throw error;
      return null;
    }),
  );
  return app;
}

/** Runs SQL on another connection, which stays open while `act` runs. */
async function beside<T>(act: (sql: (text: string) => Promise<Record<string, unknown>[]>) => Promise<T>): Promise<T> {
  const connection = (await sharedPostgres()).connect(name);
  try {
    return await act((text) => connection.unsafe(text));
  } finally {
    await connection.close();
  }
}

const backends = (sql: (text: string) => Promise<Record<string, unknown>[]>, columns: string, state = "true") =>
  sql(`select ${columns} from pg_stat_activity
    where application_name = 'podkeep' and datname = '${name}' and ${state}`);

test("many writes of one user leave connections to the others", async () => {
  await open({ database_pool: "2" });
  const ann = await app.user();
  const bob = await app.user();
  await beside(async (sql) => {
    await sql("begin");
    await sql(`select 1 from users where id = '${ann.id}' for update`);
    const writes = Array.from({ length: 20 }, (_, n) => ann.add(`https://a.example/${n}`));
    expect((await bob.add("https://b.example/")).is_subscribed).toBe(true);
    expect((await ann.request("GET", "/subscriptions")).body.total).toBe(0);
    await sql("commit");
    await Promise.all(writes);
  });
  const timestamps = (await ann.changes()).map((item) => item.subscription_changed);
  expect(new Set(timestamps).size).toBe(20);
});

test("while changes of many users wait, polls of others are answered", async () => {
  await open({ database_pool: "10" });
  const many = await Promise.all(Array.from({ length: 12 }, () => app.user()));
  const bob = await app.user();
  await beside(async (sql) => {
    await sql("begin");
    // Not the row of the one who polls, whose token notes its use.
    await sql(`select 1 from users where id <> ${bob.id} for update`);
    const writes = many.map((user, n) => user.add(`https://a.example/${n}`));
    await beside(async (look) => {
      while ((await backends(look, "pid", "wait_event_type = 'Lock'")).length < 8) await Bun.sleep(5);
    });
    expect((await bob.request("GET", "/subscriptions")).status).toBe(200);
    await sql("commit");
    await Promise.all(writes);
  });
});

test("while long reads go on, other users change their lists, and short reads are answered", async () => {
  await open({ database_pool: "10" });
  const bob = await app.user();
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const reads = Array.from({ length: 12 }, () =>
    app.app.database.read(async (tx) => {
      await readAnything(tx, {});
      await readAnything(tx, {});
      await promise;
    }),
  );
  try {
    expect((await bob.add("https://b.example/")).is_subscribed).toBe(true);
    expect((await bob.request("GET", "/subscriptions")).body.total).toBe(1);
  } finally {
    end();
    await Promise.all(reads);
  }
});

test("a server with one connection answers reads of several statements", async () => {
  await open({ database_pool: "1" });
  const numbers = await app.app.database.read(async (tx) => {
    const [first] = await tx.execute({ sql: "select 1 as n", parameters: [] });
    const [second] = await tx.execute({ sql: "select 2 as n", parameters: [] });
    return [first, second];
  });
  expect(numbers).toEqual([{ n: 1 }, { n: 2 }]);
});

test("writes of one user on two servers succeed with any default isolation level of the database", async () => {
  await open();
  await beside((sql) => sql(`alter database ${name} set default_transaction_isolation = 'repeatable read'`));
  await app.reopen();
  const ann = await app.user();
  const other = await openApp(app.app.config, { clock: app.clock });
  const urls = Array.from({ length: 60 }, (_, n) => `https://a.example/${n}`);
  try {
    await Promise.all(urls.map((url, n) => addFeeds(n % 2 ? other : app.app, ann.id, [url])));
  } finally {
    await other.close();
  }
  expect(await ann.changes()).toHaveLength(60);
  const show = { sql: "show transaction_isolation", parameters: [] };
  const levels = await app.app.database.write((tx) => tx.execute(show));
  expect(levels).toEqual([{ transaction_isolation: "read committed" }]);
});

test("many pages that an app of one user asks for at once leave connections to the others", async () => {
  await open({ database_pool: "2" });
  const ann = await app.user();
  const bob = await app.user();
  for (let n = 0; n < 4; n++) await ann.add(`https://a.example/${n}`);
  await beside(async (sql) => {
    await sql("begin");
    await sql(`select 1 from users where id = '${ann.id}' for update`);
    const pages = Array.from({ length: 10 }, (_, n) => ann.request("GET", `/subscriptions?per_page=1&page=${n + 1}`));
    await beside(async (look) => {
      while ((await backends(look, "pid", "wait_event_type = 'Lock'")).length < 1) await Bun.sleep(5);
    });
    expect((await bob.add("https://b.example/")).is_subscribed).toBe(true);
    await sql("commit");
    expect((await Promise.all(pages)).map(({ status }) => status)).toEqual(Array(10).fill(200));
  });
});

test("while another program locks a user's row, writes are 503 with Retry-After; then they work again", async () => {
  await open({ database_timeout: "3s" });
  const ann = await app.user();
  await beside(async (sql) => {
    await sql("begin");
    await sql(`select 1 from users where id = '${ann.id}' for update`);
    const answer = await ann.request("POST", "/subscriptions", { subscriptions: [{ feed_url: "https://a.example/" }] });
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("5");
    await sql("rollback");
  });
  expect((await ann.add("https://a.example/")).is_subscribed).toBe(true);
});

test("a server has no connection beside those that it works with", async () => {
  const { user } = await open({ database_pool: "1" }, { use: "server" });
  await user("ann");
  await beside(async (sql) => {
    expect(await until(async () => (await backends(sql, "pid")).length === 1)).toBe(true);
  });
});

test("after all connections were cut, the next requests work", async () => {
  await open();
  const ann = await app.user();
  await ann.add("https://a.example/");
  await beside((sql) => backends(sql, "pg_terminate_backend(pid)"));
  const answers = await Promise.all(Array.from({ length: 10 }, () => ann.request("GET", "/subscriptions")));
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
  await beside((sql) => backends(sql, "pg_terminate_backend(pid)"));
  expect((await ann.add("https://b.example/")).is_subscribed).toBe(true);
});

test("a statement that is another client's, as behind PgBouncer, is 503, and on new connections the next one works", async () => {
  await open({ database_pool: "1" });
  const run = (sql: string, ...parameters: number[]) => app.app.database.write((tx) => tx.execute({ sql, parameters }));
  const ask = () => run("select $1::int as one", 1);
  await ask();
  const find = "select name from pg_prepared_statements where statement like '% as one'";
  const [statement] = (await run(find)) as [{ name: string }];
  await run(`deallocate "${statement.name}"`);
  await run(`prepare "${statement.name}" (int, int) as select $1 + $2`);
  const message = expect.stringContaining("PgBouncer mixes up prepared statements");
  expect(await rejectionOf(ask())).toMatchObject({ code: "unavailable", message });
  expect(await ask()).toEqual([{ one: 1 }]);
});

test("changes that were refused while no connection could be opened leave all connections to later ones", async () => {
  const server = await sharedPostgres();
  const proxy = await startTcpProxy(server.port);
  name = `connections${++count}`;
  await server.createDatabase(name, "migrated");
  const database_url = server.url(name).replace(`:${server.port}/`, `:${proxy.port}/`);
  app = await openTestApp({ database_url, database_pool: "1" });
  const write = () => app.app.database.write((tx) => writeNothing(tx, {}));
  proxy.leadTo(await freePort());
  expect(await rejectionOf(write())).toMatchObject({ code: "unavailable" });
  proxy.leadTo(server.port);
  expect(await write()).toEqual([]);
  await app.close();
  proxy.close();
});

test("changes wait for a connection in the order in which they came", async () => {
  await open({ database_pool: "1" });
  const begun: number[] = [];
  const { promise: isBusy, resolve: begin } = Promise.withResolvers<void>();
  const { promise: isFree, resolve: end } = Promise.withResolvers<void>();
  const first = app.app.database.write(async () => {
    begin();
    await isFree;
  });
  await isBusy;
  const others = [1, 2, 3].map((n) => app.app.database.write(async () => void begun.push(n)));
  end();
  await Promise.all([first, ...others]);
  expect(begun).toEqual([1, 2, 3]);
});

test("plans that a migration made outdated use up no attempt, and a request that gets no other plan is 503", async () => {
  await open({ database_timeout: "3s" });
  await beside((sql) =>
    sql(`create sequence attempts; create function refuse(conflict_after int) returns void language plpgsql as $$ begin
      if nextval('attempts') > conflict_after then raise exception using errcode = '40001'; end if;
      raise exception 'cached plan must not change result type' using errcode = '0A000'; end $$`),
  );
  const refuse = (conflictAfter: number) =>
    app.app.database.write((tx) => tx.execute({ sql: `select refuse(${conflictAfter})`, parameters: [] }));
  expect(await rejectionOf(refuse(6))).toMatchObject({ code: "unavailable" });
  const [counted] = await beside((sql) => sql("select last_value from attempts"));
  expect(Number(counted?.["last_value"])).toBe(6 + 5);
  expect(await rejectionOf(refuse(1e9))).toMatchObject({ code: "unavailable", extras: { retry_after: 5 } });
});

test("a change is 503, and no fault, if its server stood still until PostgreSQL ended the transaction", async () => {
  await open({ database_timeout: "1s" });
  const writing = app.app.database.write(async (tx) => {
    const [backend] = (await tx.execute({ sql: "select pg_backend_pid() as pid", parameters: [] })) as [
      { pid: number },
    ];
    for (const end = Date.now() + WAIT; isRunning(backend.pid) && Date.now() < end; ) Bun.sleepSync(10);
    await readAnything(tx, {});
  });
  expect(await rejectionOf(writing)).toMatchObject({ code: "unavailable", extras: { retry_after: 5 } });
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("if the server stops responding, requests are 503, and new connections are used afterwards", async () => {
  await open({ database_pool: "1", database_timeout: "3s" });
  const ann = await app.user();
  const [backend] = await beside((sql) => backends(sql, "pid"));
  process.kill(Number(backend?.["pid"]), "SIGSTOP");
  try {
    const [read, write] = await Promise.all([
      ann.request("GET", "/subscriptions"),
      ann.request("POST", "/subscriptions", { subscriptions: [{ feed_url: "https://a.example/" }] }),
    ]);
    expect([read.status, write.status].every((status) => status === 200 || status === 503)).toBe(true);
    expect((await ann.add("https://b.example/")).is_subscribed).toBe(true);
  } finally {
    process.kill(Number(backend?.["pid"]), "SIGCONT");
  }
});

test("a connection that stops responding is given up without the transactions on others", async () => {
  await open({ database_pool: "2", database_timeout: "3s" });
  const sleep = (seconds: number) => ({ sql: `select pg_sleep(${seconds})`, parameters: [] });
  let ended = false;
  const writing = app.app.database.write(async (tx) => {
    while (!ended) await tx.execute(sleep(0.3));
    return "committed";
  });
  await beside(async (sql) => {
    while ((await backends(sql, "pid", "state = 'active' and query like '%pg_sleep%'")).length < 1) await Bun.sleep(5);
    const reading = rejectionOf(app.app.database.read((tx) => tx.execute(sleep(60))));
    const outside = "state = 'active' and query like '%pg_sleep(60)%' and xact_start = query_start";
    let [reader] = await backends(sql, "pid", outside);
    while (!reader) [reader] = await backends(sql, "pid", outside);
    process.kill(Number(reader["pid"]), "SIGSTOP");
    try {
      const message = "PostgreSQL did not respond in time";
      expect(await reading).toMatchObject({ code: "unavailable", message });
    } finally {
      process.kill(Number(reader["pid"]), "SIGCONT");
    }
  });
  ended = true;
  expect(await writing).toBe("committed");
});

test("a connection that stops responding is given up too if a failover has replaced all connections", async () => {
  await open({ database_pool: "2", database_timeout: "3s" });
  const sleep = { sql: "select pg_sleep(60)", parameters: [] };
  const reading = rejectionOf(app.app.database.read((tx) => tx.execute(sleep)));
  await beside(async (sql) => {
    const asleep = "state = 'active' and query like '%pg_sleep%' and xact_start = query_start";
    const pid = Number(await until(async () => (await backends(sql, "pid", asleep))[0]?.["pid"]));
    process.kill(pid, "SIGSTOP");
    try {
      const writing = app.app.database.write(async (tx) => {
        await tx.execute({ sql: "set transaction read only", parameters: [] });
        await writeNothing(tx, {});
      });
      expect(await rejectionOf(writing)).toMatchObject({ code: "unavailable" });
      expect(await reading).toMatchObject({ code: "unavailable", message: "PostgreSQL did not respond in time" });
    } finally {
      process.kill(pid, "SIGCONT");
    }
  });
});

test("a statement is given up too if its connection stops responding after the statement before it", async () => {
  await open({ database_pool: "1", database_timeout: "3s" });
  const read = (seconds: number) =>
    app.app.database.read((tx) => tx.execute({ sql: `select pg_sleep(${seconds})`, parameters: [] }));
  const [first, second] = [read(0.5), rejectionOf(read(60))];
  await first;
  const [backend] = await beside((sql) => backends(sql, "pid"));
  process.kill(Number(backend?.["pid"]), "SIGSTOP");
  try {
    expect(await second).toMatchObject({ code: "unavailable" });
  } finally {
    process.kill(Number(backend?.["pid"]), "SIGCONT");
  }
});

test("reads that wait behind others end no other transaction", async () => {
  await open({ database_pool: "2", database_timeout: "3s" });
  const sleep = (seconds: number) => ({ sql: `select pg_sleep(${seconds})`, parameters: [] });
  const writing = app.app.database.write(async (tx) => {
    for (let n = 0; n < 10; n++) await tx.execute(sleep(0.4));
    return "committed";
  });
  const reads = Array.from({ length: 12 }, () => app.app.database.read((tx) => tx.execute(sleep(0.5))));
  expect((await Promise.all(reads)).length).toBe(12);
  expect(await writing).toBe("committed");
});

test("a request that finds no free connection in time is 503 and says which setting to raise", async () => {
  await open({ database_pool: "1", database_timeout: "2s" });
  let refused = false;
  const writing = app.app.database.write(async (tx) => {
    while (!refused) await tx.execute({ sql: "select pg_sleep(0.1)", parameters: [] });
  });
  const write = () => app.app.database.write((tx) => writeNothing(tx, {}));
  const read = () => app.app.database.read((tx) => readAnything(tx, {}));
  const refusal = {
    code: "unavailable",
    message: "None of the 1 database connections was free within 2000 ms (PODKEEP_DATABASE_POOL)",
    extras: { retry_after: 5 },
  };
  expect(await Promise.all([rejectionOf(read()), rejectionOf(write())])).toMatchObject([refusal, refusal]);
  refused = true;
  await writing;
  // Later ones have the connection that those waited for.
  expect(await Promise.all([read(), write()])).toHaveLength(2);
});

test("while PostgreSQL is read-only, as a standby is, changes are 503, and the log says why; then they work again", async () => {
  await open({ database_pool: "1" });
  const ann = await app.user();
  const admin = (await sharedPostgres()).connect();
  await admin.unsafe(`alter database ${name} set default_transaction_read_only = on`);
  await app.reopen();
  const add = () => ann.request("POST", "/subscriptions", { subscriptions: [{ feed_url: "https://a.example/" }] });
  expect((await ann.request("GET", "/subscriptions")).status).toBe(200);
  const { status, headers } = await add();
  expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await rejectionOf(app.app.database.write((tx) => writeNothing(tx, {})))).toMatchObject({
    message: "PostgreSQL can't be used now: cannot execute DELETE in a read-only transaction",
  });
  // As a failover behind an address does, which leaves the connections of before.
  await admin.unsafe(`alter database ${name} reset default_transaction_read_only`);
  await admin.close();
  await until(async () => (await add()).status === 200);
  expect((await ann.changes()).length).toBe(1);
  // Of the connections before, none is left.
  await beside((sql) => until(async () => (await backends(sql, "pid")).length === 1));
});

test("while a synchronous standby is missing, changes are 503 in time, reads work, and the log and doctor say why", async () => {
  const lines: string[] = [];
  const log = createLogger("info", (line) => void lines.push(JSON.stringify(line)));
  const server = await sharedPostgres();
  const admin = server.connect();
  const setStandby = async (change: string) => {
    await admin.unsafe(`alter system ${change}`);
    await admin.unsafe("select pg_reload_conf()");
  };
  await open({ database_timeout: "3s" }, { log });
  const ann = await app.user();
  await admin.unsafe(`alter database ${name} set synchronous_commit = on`);
  await app.reopen();
  const add = () => ann.request("POST", "/subscriptions", { subscriptions: [{ feed_url: "https://a.example/" }] });
  try {
    await setStandby("set synchronous_standby_names = 'gone'");
    let answer = await add();
    // The first ones may come before the setting.
    while (answer.status === 200) answer = await add();
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(lines.join("\n")).toContain("PostgreSQL did not respond in time");
    expect((await ann.request("GET", "/subscriptions")).status).toBe(200);
    const findings = await examine({ database_url: server.url(name), port: "0" }, [], {});
    const detail = expect.stringContaining("wait for a synchronous standby");
    expect(findings).toContainEqual(expect.objectContaining({ about: "durability", state: "problem", detail }));
  } finally {
    await setStandby("reset synchronous_standby_names");
    await admin.close();
  }
  await until(async () => (await add()).status === 200);
});

test("while a database takes no connections or has another name, for maintenance, requests are 503", async () => {
  await open();
  const ann = await app.user();
  const admin = (await sharedPostgres()).connect();
  const statuses = async () => {
    const paths = ["/subscriptions", "/readyz"];
    return Promise.all(paths.map(async (path) => (await ann.request("GET", path)).status));
  };
  await admin.unsafe(`alter database ${name} allow_connections false`);
  const others = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`;
  while ((await admin.unsafe(others)).length > 0) await Bun.sleep(5);
  expect(await statuses()).toEqual([503, 503]);
  await admin.unsafe(`alter database ${name} rename to maintained`);
  expect(await statuses()).toEqual([503, 503]);
  await admin.unsafe(`alter database maintained rename to ${name}`);
  await admin.unsafe(`alter database ${name} allow_connections true`);
  await admin.close();
  expect(await statuses()).toEqual([200, 200]);
});

test("a PostgreSQL that takes no changes before transaction ids wrap around is unavailable", async () => {
  await open();
  const refuse = { sql: "do $$ begin raise exception using errcode = '54000'; end $$", parameters: [] };
  expect(await rejectionOf(app.app.database.write((tx) => tx.execute(refuse)))).toMatchObject({ code: "unavailable" });
});

/** Opens the database as a role that may have so many connections. */
async function openAs(role: string, limit: number): Promise<App> {
  await beside((sql) =>
    sql(`create role ${role} login password 'pw' connection limit ${limit} in role pg_read_all_data`),
  );
  const url = new URL((await sharedPostgres()).url(name));
  [url.username, url.password] = [role, "pw"];
  return openApp({ ...app.app.config, location: { url: url.href } });
}

test("if PostgreSQL allows fewer connections than PODKEEP_DATABASE_POOL, the log says so", async () => {
  await open();
  const role = `few${count}`;
  const other = await openAs(role, 1);
  const look = { sql: "select 1", parameters: [] };
  // PostgreSQL can refuse both of two that connect at once: the second one comes while the first one has its connection.
  const writeBesideAnother = () =>
    other.database.write(async (tx) => {
      await tx.execute(look);
      return other.database.write((second) => second.execute(look)).then(() => "", messageOf);
    });
  // It also counts the connection that the database was opened with until that has ended.
  const reason = await until(() => writeBesideAnother().catch(() => null));
  await other.close();
  expect(reason).toBe(`PostgreSQL can't be used now: too many connections for role "${role}"`);
});

test("if PostgreSQL allows as many connections as PODKEEP_DATABASE_POOL, a statement that fails costs others nothing", async () => {
  await open({ database_pool: "1" });
  const other = await openAs(`enough${count}`, 1);
  const run = (sql: string) => other.database.write((tx) => tx.execute({ sql, parameters: [] }));
  for (let n = 0; n < 20; n++) {
    const [failed, ...rest] = await Promise.allSettled(["select 1 / (select 0)", "select 1", "select 2"].map(run));
    expect(failed).toMatchObject({ status: "rejected", reason: { message: "division by zero" } });
    expect(rest.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
  }
  await other.close();
});

test("while PostgreSQL has a certificate that is not trusted, it is unavailable, and the error says why", async () => {
  await open();
  const data = String((await beside((sql) => sql("show data_directory")))[0]?.["data_directory"]);
  const { uid, gid } = statSync(data);
  const use = ({ cert, key }: Tls) =>
    beside(async (sql) => {
      for (const [file, text] of Object.entries({ "server.crt": cert, "server.key": key })) {
        writeFileSync(join(data, file), text, { mode: 0o600 });
        chownSync(join(data, file), uid, gid);
      }
      await sql("alter system set ssl = on");
      const loaded = async () => String((await sql("select pg_conf_load_time()::text as time"))[0]?.["time"]);
      const before = await loaded();
      await sql("select pg_reload_conf()");
      await until(async () => (await loaded()) !== before);
      await sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'podkeep'");
    });
  const authority = await createAuthority(mkdtempSync(join(tmpdir(), "podkeep-ca-")));
  await use(await authority.issue("IP:127.0.0.1"));
  const url = `${(await sharedPostgres()).url(name)}?sslmode=verify-full&sslrootcert=${authority.ca}`;
  const other = await openApp({ ...app.app.config, location: { url } });
  const failure = async () => {
    const [result] = await Promise.allSettled([other.database.write((tx) => writeNothing(tx, {}))]);
    return result.status === "rejected" ? result.reason : null;
  };
  expect(await failure()).toBeNull();
  for (const [certificate, reason] of [
    [await authority.issue("IP:127.0.0.1", -1), "its certificate has expired"],
    [await authority.selfSigned("IP:127.0.0.1"), "its certificate is self-signed"],
  ] as const) {
    await use(certificate);
    expect(await failure()).toMatchObject({ code: "unavailable", message: `PostgreSQL can't be used now: ${reason}` });
  }
  await use(await authority.issue("IP:127.0.0.1"));
  expect(await failure()).toBeNull();
  await other.close();
  await beside((sql) => sql("alter system reset ssl"));
});

describe("while PostgreSQL hangs", () => {
  const requests: [what: string, status: number, send: (ann: TestUser) => Promise<{ status: number }>][] = [
    ["a read", 503, (ann) => ann.request("GET", "/subscriptions")],
    ["a change", 503, (ann) => ann.request("POST", "/subscriptions", { subscriptions: [] })],
    ["the readiness check", 503, () => app.send("GET", "/readyz")],
    ["a scrape of the metrics", 200, () => metrics.fetch(app.app, new Request("http://podkeep.test/metrics"))],
  ];
  const metrics = createMetricsEndpoint();

  test("each request, health check and scrape makes one attempt, then has its response", async () => {
    const server = await sharedPostgres();
    const proxy = await startTcpProxy(server.port);
    name = `connections${++count}`;
    await server.createDatabase(name, "migrated");
    const database_url = server.url(name).replace(`:${server.port}/`, `:${proxy.port}/`);
    app = await openTestApp({ database_url, database_timeout: "2s" });
    const ann = await app.user();
    proxy.hang();
    for (const [what, status, send] of requests) {
      const before = proxy.accepted;
      expect([what, (await send(ann)).status]).toEqual([what, status]);
      expect(proxy.accepted - before).toBeLessThan(2);
    }
    proxy.close();
  });
});

test("several admins create the same user at once: one succeeds, the others get a conflict", async () => {
  await open();
  const names = ["ann", "bob", "cleo", "dan", "eve"];
  const made = await Promise.allSettled(names.flatMap((name) => [1, 2, 3].map(() => app.user(name))));
  const refused = made.filter((one) => one.status === "rejected").map(({ reason }) => reason.code);
  expect(refused).toEqual(Array(10).fill("conflict"));
});

test("a user who is deleted while an app syncs leaves nothing, no history either", async () => {
  await open();
  const ann = await app.user();
  await ann.add("https://a.example/");
  await beside(async (sql) => {
    await sql("begin");
    await sql(`update users set clock = clock + 1 where id = '${ann.id}'`);
    const deleted = deleteUser(app.app, ann.name);
    await beside(async (look) => {
      while ((await backends(look, "pid", "wait_event_type = 'Lock'")).length === 0) await Bun.sleep(20);
    });
    await sql(`insert into history (user_id, changed_at, seq, at, what, actor_kind)
      values ('${ann.id}', 9000000000000, 0, 0, 'restored', 'admin')`);
    await sql("commit");
    await deleted;
    expect(await sql("select * from history")).toHaveLength(0);
    expect(await sql("select * from users")).toHaveLength(0);
  });
});

/** Runs `act` until it waits for the user's row, which another server deletes then. @returns what it gives or throws */
async function whileDeleted(user: TestUser, act: () => Promise<unknown>): Promise<unknown> {
  return beside(async (sql) => {
    await sql("begin");
    for (const table of ["login_tokens", "tokens"]) await sql(`delete from ${table} where user_id = '${user.id}'`);
    await sql(`delete from users where id = '${user.id}'`);
    const acted = act().catch((error) => error);
    while ((await beside((look) => backends(look, "pid", "wait_event_type = 'Lock'"))).length < 1) await Bun.sleep(5);
    await sql("commit");
    return acted;
  });
}

test("a token that is issued while another server deletes its user is refused", async () => {
  await open();
  const ann = await app.user("ann");
  const issue = () => issueToken(app.app, actAsUser(ann.id), { label: "phone", scope: "write", expires_at: null });
  expect(await whileDeleted(ann, issue)).toMatchObject({ code: "unauthorized" });
});

describe("an app of the draft is refused with 401 if another server deletes its user while it", () => {
  const post = (path: string, body: object) =>
    app.send("POST", path, { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const password = "correct horse battery staple";

  for (const [does, act] of [
    ["logs in with the password", async () => () => post("/auth/login", { username: "ann", password })],
    ["logs in with a token", async (token) => () => post("/auth/login", { username: "ann", password: token })],
    [
      "refreshes its access token",
      async (token) => {
        const { refresh_token } = (await post("/auth/login", { username: "ann", password: token })).body;
        return () => post("/auth/refresh", { refresh_token });
      },
    ],
  ] as [string, (token: string) => Promise<() => Promise<Answer>>][]) {
    test(does, async () => {
      await open({ open_podcast_draft: "on" });
      const ann = await app.user("ann");
      await ann.setPassword(password);
      expect(await whileDeleted(ann, await act(ann.token))).toMatchObject({ status: 401 });
      expect(await beside((sql) => sql("select * from login_tokens"))).toHaveLength(0);
    });
  }
});

describe("an upload that runs on one server", () => {
  const headers = { "User-Agent": "AntennaPod/3.1" };
  const path = "/api/2/subscriptions/ann/phone.json";

  /** Uploads twice; `act` runs once the first upload has read its client and waits for a lock. */
  async function uploadWhile(act: (ann: TestUser) => Promise<unknown>): Promise<number[]> {
    await open();
    const ann = await app.user("ann");
    await ann.request("GET", `${path}?since=0`, undefined, headers);
    const upload = () => ann.request("POST", path, { add: ["https://a.example/"], remove: [] }, headers);
    return beside(async (sql) => {
      const waiting = () => beside(async (look) => (await backends(look, "pid", "wait_event_type = 'Lock'")).length);
      await sql("begin");
      await sql("lock table subscriptions in share mode");
      const uploaded = upload();
      while ((await waiting()) < 1) await Bun.sleep(5);
      let done = false;
      const acted = act(ann).finally(() => {
        done = true;
      });
      while (!done && (await waiting()) < 2) await Bun.sleep(5);
      await sql("commit");
      await acted;
      return [(await uploaded).status, (await upload()).status];
    });
  }

  const onOther = async <T>(work: (other: App) => Promise<T>, clock: Clock = app.clock) => {
    const other = await openApp(app.app.config, { clock });
    try {
      return await work(other);
    } finally {
      await other.close();
    }
  };
  const tokenOf = ({ token }: TestUser) => token.split("_")[1] ?? "";

  test("succeeds if its device is forgotten on another, and the device can come back", async () => {
    const statuses = await uploadWhile((ann) => onOther((other) => forgetDevice(other, actAsUser(ann.id), "phone")));
    expect(statuses).toEqual([200, 200]);
  });

  test("succeeds if its token is revoked on another; the next one is refused", async () => {
    const statuses = await uploadWhile((ann) => onOther((other) => revokeToken(other, tokenOf(ann))));
    expect(statuses).toEqual([200, 401]);
  });

  test("succeeds if another prunes its client because the token has expired", async () => {
    const inHalfAYear = { ...app.clock, now: () => app.clock.now() + 180 * 24 * 60 * 60 * 1000 };
    const statuses = await uploadWhile((ann) =>
      onOther(async (other) => {
        await beside((sql) => sql(`update tokens set expires_at = ${app.clock.now()} where id = '${tokenOf(ann)}'`));
        expect(await pruneClients(other)).toBe(1);
      }, inHalfAYear),
    );
    expect(statuses).toEqual([200, 401]);
  });

  test("succeeds if a server of an older version, which locks less, deletes its client", async () => {
    const statuses = await uploadWhile(() => beside((sql) => sql("delete from clients")));
    expect(statuses).toEqual([200, 200]);
  });
});

test("text that PostgreSQL can't store is a mistake of the request, not of the server", async () => {
  await open();
  const ann = await app.user();
  expect(await rejectionOf(listHistory(app.app, actAsUser(ann.id), { by: "a\0b", limit: 1 }))).toMatchObject({
    code: "invalid",
    message: "A text has a character that can't be stored",
  });
});

test("an app can write the longest feed URL otherwise than the server", async () => {
  await open();
  const ann = await app.user();
  const path = Array.from({ length: 125 }, (_, n) => hashText(String(n))).join("");
  await ann.add(`https://a.example/${path}`);
  const upload = () =>
    ann.request(
      "POST",
      `/api/2/subscriptions/${ann.name}/phone.json`,
      { add: [`http://A.example/${path}`], remove: [] },
      { "User-Agent": "AntennaPod/3.5" },
    );
  expect([(await upload()).status, (await upload()).status]).toEqual([200, 200]);
  const [row] = await beside((sql) => sql("select count(*)::int as known from spellings"));
  expect(row).toEqual({ known: 1 });
});

test("a missing table is an error, not an endless retry", async () => {
  await open({}, { log: silentLogger });
  const ann = await app.user();
  await beside((sql) => sql("alter table feeds rename to gone"));
  const answer = await ann.request("POST", "/subscriptions", { subscriptions: [{ feed_url: "https://a.example/" }] });
  expect(answer.status).toBe(500);
});

test("while the database has a newer schema that a server doesn't know, it says so: requests and health are 503", async () => {
  const log: LogLine[] = [];
  await open({}, { log: createLogger("info", (line) => log.push(line)) });
  const ann = await app.user();
  const add = () => ann.request("POST", "/subscriptions", { subscriptions: [{ feed_url: "https://a.example/" }] });
  const health = () => app.send("GET", "/readyz");
  const newer = "insert into podkeep_migration (name, timestamp) values ('9999_future', '2030-01-01')";
  // Schemas that an older server can use stay in use while servers are replaced.
  await beside((sql) => sql(newer));
  expect((await add()).status).toBe(200);
  expect((await health()).status).toBe(200);

  await beside((sql) => sql("alter table feeds rename to later_feeds"));
  log.length = 0;
  const answer = await add();
  expect([answer.status, answer.headers.get("Retry-After")]).toEqual([503, "5"]);
  const reason = "The database has schema version 9999_future, this program knows up to";
  expect(log).toMatchObject([{ reason: expect.stringContaining(reason) }, { status: 503 }]);
  expect(log[0]).not.toHaveProperty("stack");
  expect((await health()).status).toBe(503);

  await beside((sql) => sql("alter table later_feeds rename to feeds"));
  await beside((sql) => sql("delete from podkeep_migration where name = '9999_future'"));
  expect((await health()).status).toBe(200);
});

test("a failed statement fails its transaction even if its error was caught", async () => {
  await open();
  const user = { public_id: "a", name: "ann", name_key: "ann", created_at: 0 };
  const writing = app.app.database.write(async (tx) => {
    await insertUser(tx, user);
    await insertUser(tx, { ...user, name: "bob" }).catch(() => {});
  });
  expect(await settle(writing)).toThrow("duplicate key");
  expect(await listUsers(app.app)).toEqual([]);
});
