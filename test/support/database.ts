// A test's database: a file, or one on PostgreSQL if PODKEEP_TEST_ENGINE says so.
import { Database as Sqlite } from "bun:sqlite";
import { copyFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SQL } from "bun";
import { type App, openApp } from "../../src/app.ts";
import type { SettingName } from "../../src/config/setting-list.ts";
import { type Config, readConfig } from "../../src/config/settings.ts";
import { retryWhileBusy } from "../../src/db/sqlite/retry-busy.ts";
import { tables } from "../../src/db/tables.ts";
import { nextTurn } from "../../src/turns.ts";
import { PREPARED_FILE } from "./data-directory.ts";
import { WAIT } from "./patience.ts";
import { type PostgresServer, PREPARED, startPostgres } from "./postgres.ts";

/** Whether tests' databases are files. */
export const ON_SQLITE = process.env["PODKEEP_TEST_ENGINE"] !== "postgres";

export interface Store {
  settings: Partial<Record<SettingName, string>>;
  /** Runs SQL on another connection, as another program would, and returns the rows. */
  sql(text: string): Promise<Record<string, unknown>[]>;
  /** Makes every deletion, or that of one guid, fail with this reason; null ends that. */
  failDeletions(reason: string | null, guid?: string): Promise<void>;
  /** Keeps a connection for `sql` until the app closes: each new one reads the schema, which takes longer than a statement. */
  keepConnection(app: Pick<App, "close">): void;
  remove(): Promise<void>;
}

/** The database file of a test's data. */
export const databaseFile = ({ data_dir }: Pick<Config, "data_dir">) => join(data_dir, "podkeep.db");

/** Creates an empty store; a file goes to `directory`. */
export function createStore(directory: string): Promise<Store> {
  return ON_SQLITE ? createSqliteStore(directory) : createPostgresStore();
}

/** Locks the file for writing, as another program would, when no write of the app is going on. @returns a function to end that */
export async function lockFile(file: string): Promise<() => void> {
  const sqlite = new Sqlite(file);
  await retryWhileBusy(WAIT, () => sqlite.run("begin immediate"));
  return () => sqlite.close();
}

/** Runs SQL on a database file as another program would, as soon as no write is going on. @returns the rows */
export async function runSql(file: string, text: string): Promise<Record<string, unknown>[]> {
  const sqlite = new Sqlite(file);
  try {
    return await runOn(sqlite, text);
  } finally {
    sqlite.close();
  }
}

const runOn = (sqlite: Sqlite, text: string): Promise<Record<string, unknown>[]> =>
  retryWhileBusy(WAIT, () => sqlite.query<Record<string, unknown>, []>(text).all());

let migrated: Promise<string> | undefined;

/** A file of the present schema, of which each test gets a copy: migrating takes longer than most tests. */
function migratedFile(): Promise<string> {
  migrated ??= (async () => {
    if (PREPARED_FILE) return PREPARED_FILE;
    const { config } = readConfig({ data_dir: mkdtempSync(join(tmpdir(), "podkeep-migrated-")) }, {});
    await (await openApp(config)).close();
    return databaseFile(config);
  })();
  return migrated;
}

async function createSqliteStore(directory: string): Promise<Store> {
  const settings = { data_dir: directory };
  const file = databaseFile(settings);
  copyFileSync(await migratedFile(), file);
  let isAppOpen = false;
  let kept: Sqlite | undefined;
  const sql: Store["sql"] = async (text) => {
    if (isAppOpen) kept ??= new Sqlite(file);
    try {
      return await (kept ? runOn(kept, text) : runSql(file, text));
    } finally {
      // The reads of one turn share a snapshot, which does not have what this wrote.
      await nextTurn();
    }
  };
  return {
    settings,
    sql,
    async failDeletions(reason, guid) {
      await sql("drop trigger if exists refuse");
      if (reason === null) return;
      await sql(`create trigger refuse before update of deleted on subscriptions ${onlyOf(guid)}
        begin select raise(abort, '${reason}'); end`);
    },
    keepConnection(app) {
      const { close } = app;
      isAppOpen = true;
      app.close = async () => {
        isAppOpen = false;
        // An open one would keep the write-ahead log, which a file that is put in this one's place would meet.
        kept?.close();
        kept = undefined;
        await close();
      };
    },
    async remove() {},
  };
}

const onlyOf = (guid?: string) => `when (new.deleted is not null${guid ? ` and old.guid = '${guid}'` : ""})`;

let shared: Promise<PostgresServer> | undefined;
let databases = 0;
const TEMPLATE = "migrated";

/** The server that all tests of a process share; support/end.ts ends it with the run, or `npm test` does. */
export function sharedPostgres(): Promise<PostgresServer> {
  shared ??= startPostgres(false).then(async (server) => {
    if (!PREPARED) await createTemplate(server);
    return server;
  });
  return shared;
}

async function createTemplate(server: PostgresServer): Promise<void> {
  await server.createDatabase(TEMPLATE);
  await (await openApp(readConfig({ database_url: server.url(TEMPLATE) }, {}).config)).close();
}

/** Prepares a data directory for PODKEEP_TEST_POSTGRES. @returns its path, the only thing in its parent, which is in `folder` */
export async function preparePostgres(folder: string): Promise<string> {
  const server = await startPostgres(false, folder);
  await createTemplate(server);
  return server.stop();
}

export async function endSharedPostgres(): Promise<void> {
  await (await shared)?.remove();
}

const plain = (value: unknown) => (typeof value === "bigint" ? Number(value) : value);

interface Emptied {
  name: string;
  connection: SQL;
  /** Rows that were deleted, and still lie in its files. */
  dead: number;
}

/** With more of them, new files take less time than the way past them in each later statement. */
const MOST_DEAD = 20_000;

// Databases whose schema is unchanged are emptied for the next test: creating one takes longer than most tests.
const emptied: Emptied[] = [];

async function createDatabase(server: PostgresServer): Promise<Emptied> {
  const name = `test${++databases}`;
  await server.createDatabase(name, TEMPLATE);
  return { name, connection: server.connect(name), dead: 0 };
}

async function createPostgresStore(): Promise<Store> {
  const server = await sharedPostgres();
  const database = emptied.pop() ?? (await createDatabase(server));
  const { name, connection } = database;
  let altered = false;
  let failing = false;
  let removed = false;
  const sql: Store["sql"] = async (text) => {
    altered ||= !/^(select|insert|update|delete) /i.test(text);
    const rows: Record<string, unknown>[] = await connection.unsafe(text);
    return rows.map((row) => Object.fromEntries(Object.entries(row).map(([column, value]) => [column, plain(value)])));
  };
  const store: Store = {
    settings: { database_url: server.url(name), database_pool: "5" },
    sql,
    async failDeletions(reason, guid) {
      await connection.unsafe("drop trigger if exists refuse on subscriptions");
      failing = reason !== null;
      if (!failing) return;
      await connection.unsafe(`create or replace function refuse() returns trigger language plpgsql as
        $$ begin raise exception '${reason}'; end $$`);
      await connection.unsafe(`create trigger refuse before update of deleted on subscriptions for each row ${onlyOf(guid)}
        execute function refuse()`);
    },
    // Each database has one.
    keepConnection() {},
    async remove() {
      if (removed) return;
      removed = true;
      if (altered) {
        await connection.close();
        const admin = server.connect();
        await admin.unsafe(`drop database ${name} with (force)`);
        await admin.close();
        return;
      }
      if (failing) await store.failDeletions(null);
      const emptying = Object.keys(tables).toReversed();
      const results: { count: number }[] = await connection.unsafe(
        emptying.map((table) => `delete from ${table}`).join(";"),
      );
      database.dead += results.reduce((sum, { count }) => sum + count, 0);
      if (database.dead > MOST_DEAD) {
        await connection.unsafe(`truncate ${emptying.join(", ")}`);
        database.dead = 0;
      }
      emptied.push(database);
    },
  };
  return store;
}
