// Databases that can't be used: one line that names the server and never the password.
import { expect, setDefaultTimeout, test } from "bun:test";
import { openDatabase } from "../../../src/db/open.ts";
import { readAnything, writeNothing } from "../../../src/db/statement.ts";
import { sharedPostgres } from "../../support/database.ts";
import { PATIENCE } from "../../support/patience.ts";
import { rejectionOf } from "../../support/rejection.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";

setDefaultTimeout(PATIENCE);

const OPTIONS = {
  busy_timeout: 1000,
  database_pool: 2,
  database_timeout: 2000,
  use: "command",
  backup_dir: null,
} as const;
const SECRET = "correct-horse";

/** The error of opening a database. @param code "unavailable" if another try may succeed */
async function refusal(url: string, migrate: "start" | "command" = "start", code = "config"): Promise<string> {
  const opened = openDatabase({ url }, { ...OPTIONS, migrate });
  const error = await opened.then(
    () => null,
    (reason) => reason,
  );
  await opened.then(
    (database) => database.close(),
    () => {},
  );
  expect(error).toMatchObject({ code });
  expect(error.message).not.toContain("\n");
  expect(error.message).not.toContain(SECRET);
  return error.message;
}

test.each([
  ["postgres://podkeep:correct-horse@[nonsense/x", /^The PostgreSQL URL can't be read/],
  ["postgres://podkeep:correct-horse@host:port/x", /^The PostgreSQL URL can't be read/],
  ["postgres://pod%zzkeep:correct-horse@host/x", /^The PostgreSQL URL can't be read/],
  ["postgres://podkeep:correct-horse%@host/x", /^The PostgreSQL URL can't be read: .*% as %25/],
  ["postgres://podkeep:correct-horse@one:5432,two:5432/x", /^The PostgreSQL URL has several hosts: give one address/],
  ["postgres://podkeep:correct-horse@one,two/x", /^The PostgreSQL URL has several hosts: give one address/],
  [
    "postgres://podkeep:correct-horse@/x?host=/run/postgresql",
    /^The PostgreSQL URL has its host .*@%2Frun%2Fpostgresql/,
  ],
  [
    "postgres:///x?sslmode=disable&host=/run/postgresql",
    /^The PostgreSQL URL has its host behind the database: put it/,
  ],
])("%s", async (url, message) => {
  expect(await refusal(url)).toMatch(message);
});

test.each(["127.0.0.1:1", "no.such.host.invalid:5432"])("a server at %s, which may come later", async (server) => {
  const message = await refusal(`postgres://podkeep:correct-horse@${server}/x`, "start", "unavailable");
  const reason = "connection refused, or the host name has no IP address";
  expect(message).toBe(`PostgreSQL at ${server} can't be reached: ${reason}`);
});

test("a server that closes its connections is named with that reason", async () => {
  using closing = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: (socket) => void socket.end() } });
  const server = `127.0.0.1:${closing.port}`;
  const message = await refusal(`postgres://podkeep:correct-horse@${server}/x`, "start", "unavailable");
  expect(message).toBe(`PostgreSQL at ${server} can't be reached: the connection was closed`);
});

test("a server that goes away while podkeep runs is unavailable with the reason", async () => {
  const proxy = await startTcpProxy((await sharedPostgres()).port);
  const url = new URL(await newDatabase("that_goes_away", "select 1", "migrated"));
  url.port = String(proxy.port);
  const database = await openDatabase({ url: url.href }, { ...OPTIONS, migrate: "start" });
  proxy.close();
  expect(await rejectionOf(database.read((tx) => readAnything(tx, {})))).toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/^PostgreSQL can't be reached now: (connection refused|the connection was closed)/),
  });
  await database.close();
});

test("wrong credentials name the server, the user and the reason", async () => {
  const { port } = await sharedPostgres();
  const server = `127.0.0.1:${port}`;
  expect(await refusal(`postgres://postgres:${SECRET}@${server}/postgres`)).toBe(
    `PostgreSQL at ${server} refuses the login of postgres: password authentication failed for user "postgres"`,
  );
});

test("a database that does not exist is named", async () => {
  const server = await sharedPostgres();
  expect(await refusal(server.url("nowhere"))).toBe(`PostgreSQL at 127.0.0.1:${server.port} has no database nowhere`);
});

test("an sslmode that PostgreSQL does not have is refused", async () => {
  const message = await refusal(`postgres://podkeep:${SECRET}@127.0.0.1:1/x?sslmode=never`);
  expect(message).toMatch(/^PostgreSQL at 127\.0\.0\.1:1 can't be used: .*sslmode.*verify-full/);
});

test.each([
  ["sslrootcert", "sslrootcert=/nowhere/ca.pem"],
  ["sslkey", "sslcert=/etc/hostname&sslkey=/nowhere/ca.pem"],
  ["sslcert", "sslcert=/nowhere/ca.pem&sslkey=/etc/hostname"],
])("a file of %s that can't be read is named", async (name, files) => {
  const message = await refusal(`postgres://podkeep:${SECRET}@127.0.0.1:1/x?sslmode=verify-full&${files}`);
  const reason = `${name} in its URL, /nowhere/ca.pem, can't be read (no such file or directory)`;
  expect(message).toBe(`PostgreSQL at 127.0.0.1:1 can't be used: ${reason}`);
});

test("the database in the URL is the one, with any PGDATABASE", async () => {
  const url = await newDatabase("in_the_url", "select 1");
  process.env["PGDATABASE"] = "elsewhere";
  try {
    await (await openDatabase({ url }, { ...OPTIONS, migrate: "start" })).close();
  } finally {
    delete process.env["PGDATABASE"];
  }
});

test("a user who may not create tables is refused, also after an upgrade by another", async () => {
  const server = await sharedPostgres();
  const url = await newDatabase(
    "of_another",
    `create role stranger login password '${SECRET}'; revoke create on schema public from public`,
  );
  const asStranger = new URL(url);
  [asStranger.username, asStranger.password] = ["stranger", SECRET];
  const expected = new RegExp(
    `^PostgreSQL at 127\\.0\\.0\\.1:${server.port} refuses stranger in of_another \\(permission denied for .*\\): make stranger its owner$`,
  );
  expect(await refusal(asStranger.href)).toMatch(expected);
  await (await openDatabase({ url }, { ...OPTIONS, migrate: "start" })).close();
  expect(await refusal(asStranger.href)).toMatch(expected);
});

test("a user who may only read what another one restored is told what to change, in each use", async () => {
  const grants = `create role reader login password '${SECRET}' in role pg_read_all_data`;
  const url = new URL(await newDatabase("of_reader", grants, "migrated"));
  [url.username, url.password] = ["reader", SECRET];
  const database = await openDatabase({ url: url.href }, { ...OPTIONS, migrate: "start" });
  expect(await rejectionOf(database.write((tx) => writeNothing(tx, {})))).toMatchObject({
    code: "unavailable",
    message:
      "PostgreSQL can't be used now: permission denied for table users. Make the user of PODKEEP_DATABASE_URL its owner",
  });
  await database.close();
});

async function newDatabase(name: string, statement: string, template?: string): Promise<string> {
  const server = await sharedPostgres();
  await server.createDatabase(name, template);
  const connection = server.connect(name);
  await connection.unsafe(statement).simple();
  await connection.close();
  return server.url(name);
}

test("a database of another program is refused and stays as it was", async () => {
  const url = await newDatabase("foreign_tables", "create table orders (id integer)");
  expect(await refusal(url)).toMatch(/^foreign_tables on 127\.0\.0\.1:\d+ is not a podkeep database/);
  expect(await tablesOf("foreign_tables")).toEqual(["orders"]);
});

test("a database in another encoding is refused", async () => {
  const server = await sharedPostgres();
  const admin = server.connect();
  await admin.unsafe("create database latin encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0");
  await admin.close();
  expect(await refusal(server.url("latin"))).toMatch(/^latin on 127\.0\.0\.1:\d+ is in LATIN1: create it in UTF8$/);
});

test("a schema in search_path that does not exist is refused, and another has its own tables", async () => {
  const url = await newDatabase("schemas", "create schema one; create schema two");
  for (const schema of ["one", "two", "one"]) {
    const opened = await openDatabase({ url: `${url}?search_path=${schema}` }, { ...OPTIONS, migrate: "start" });
    expect(await opened.read((tx) => readAnything(tx, {}))).toEqual([]);
    await opened.close();
  }
  expect(await tablesOf("schemas")).toEqual([]);
  expect(await refusal(`${url}?search_path=three`)).toMatch(/has none of the schemas in search_path: create one$/);
});

test("a user who may only use a schema in a database of others gets tables there", async () => {
  const url = new URL(
    await newDatabase(
      "hardened",
      `create role tenant login password '${SECRET}'; create schema own authorization tenant;
        revoke all on database hardened from public; grant connect on database hardened to tenant`,
    ),
  );
  [url.username, url.password] = ["tenant", SECRET];
  const opened = await openDatabase({ url: `${url.href}?search_path=own` }, { ...OPTIONS, migrate: "start" });
  expect(await opened.read((tx) => readAnything(tx, {}))).toEqual([]);
  await opened.close();
});

test("data are not taken for lost if somebody creates a schema that comes before theirs", async () => {
  // The default search_path begins with the schema that has the user's name.
  const url = await newDatabase("shadowed", "create schema postgres", "migrated");
  for (const migrate of ["start", "command"] as const) {
    expect(await refusal(url, migrate)).toMatch(
      /^shadowed on 127\.0\.0\.1:\d+ has podkeep's tables in the schema public, behind postgres in search_path: /,
    );
  }
  for (const schema of ["public", "postgres"]) {
    await (await openDatabase({ url: `${url}?search_path=${schema}` }, { ...OPTIONS, migrate: "start" })).close();
  }
});

test("a database of a newer podkeep is refused", async () => {
  const url = await newDatabase(
    "newer",
    "insert into podkeep_migration (name, timestamp) values ('9999_future', '2030-01-01')",
    "migrated",
  );
  expect(await refusal(url)).toMatch(/9999_future.*use a newer podkeep/);
});

test("with PODKEEP_MIGRATE=command an empty database is refused and stays empty", async () => {
  const url = await newDatabase("unmigrated", "select 1");
  expect(await refusal(url, "command")).toMatch(/run podkeep migrate/);
  expect(await tablesOf("unmigrated")).toEqual([]);
});

async function tablesOf(name: string): Promise<unknown[]> {
  const connection = (await sharedPostgres()).connect(name);
  const rows = await connection.unsafe("select tablename from pg_tables where schemaname = 'public' order by 1");
  await connection.close();
  return rows.map((row: { tablename: string }) => row.tablename);
}
