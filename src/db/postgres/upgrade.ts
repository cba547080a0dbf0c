// Migration of a PostgreSQL database: one process at a time, in one transaction.
import { readFileSync } from "node:fs";
import type { SQL } from "bun";
import { Kysely, sql } from "kysely";
import { PostgresJSDialect } from "kysely-postgres-js";
import { codeOf, DomainError, messageOf, reasonOf } from "../../errors.ts";
import type { DatabaseUse } from "../database.ts";
import type { Dialect } from "../migrations/dialect.ts";
import {
  MIGRATION_TABLE,
  type Migrating,
  type MigrationReport,
  migrate,
  notMigrated,
  pendingMigrations,
  SCHEMA_VERSION,
} from "../migrations/migrate.ts";
import type { Schema } from "../schema.ts";
import { Connection, connect, describeServer, type PoolOptions, type Row, WRITE } from "./connection.ts";
import { findPoolerFault, isLost, refusedParameter, sqlStateOf } from "./errors.ts";
import { refuseMixing } from "./prepared-statements.ts";

export const DIALECT: Dialect = {
  text: 'text collate "C"',
  tableOptions: "",
  prefersRowids: false,
  dropsConstraints: true,
  limitsKeys: true,
};
/** Kysely's number, by which older versions wait for this one too. */
export const MIGRATION_LOCK = "3853314791062309107";
/** Maximum attempts of a migration. */
const ATTEMPTS = 5;

export interface UpgradeOptions extends PoolOptions, MigrationReport {
  migrate: Migrating;
  use: DatabaseUse;
  /** Whether it is opened to be filled by a copy. */
  copying?: boolean;
}

/**
 * Brings the database to this program's schema.
 * @returns the connection by which it looked, for a pool: opening one takes longer than most statements
 * @throws DomainError "unavailable" if it can't be reached; "config" if it refuses the login, is not ours, or is from
 * a newer program
 */
export async function upgradeDatabase(options: UpgradeOptions): Promise<SQL> {
  const first = connect(options, options.timeout);
  try {
    if (options.use === "server") await refuseMixing(new Connection(first, options, {}), options);
    await prepare(first, options);
    return first;
  } catch (error) {
    await first.close();
    throw refusal(error, options.url);
  }
}

const PLACE =
  "select current_schema() as schema, getdatabaseencoding() as encoding, current_setting('search_path') as path";

async function prepare(connection: SQL, options: UpgradeOptions): Promise<void> {
  const { url, migrate: migrating, copying } = options;
  const { server, database } = describeServer(url);
  const [place] = await connection.unsafe<Row[]>(PLACE);
  const wanted = searchPathIn(url);
  if (wanted !== null && withoutSpaces(String(place?.["path"])) !== withoutSpaces(wanted)) throw wrongSearchPath(url);
  if (place?.["schema"] === null) {
    throw new DomainError("config", `${database} on ${server} has none of the schemas in search_path: create one`);
  }
  if (place?.["encoding"] !== "UTF8") {
    throw new DomainError("config", `${database} on ${server} is in ${place?.["encoding"]}: create it in UTF8`);
  }
  const readOwn = async (run: Run): Promise<string[]> => {
    const applied = await readApplied(run);
    const [behind] = applied?.length === 0 ? await run(SCHEMAS_BEHIND) : [];
    if (behind) {
      const found = `has podkeep's tables in the schema ${behind["schema"]}, behind ${place?.["schema"]} in search_path`;
      throw new DomainError("config", `${database} on ${server} ${found}: set search_path in the URL to one of them`);
    }
    if (applied) return applied;
    throw new DomainError("config", `${database} on ${server} is not a podkeep database: it holds other tables`);
  };
  const isPending = (applied: string[]) => pendingMigrations(applied, migrating, copying).length > 0;
  const applied = await readOwn((text) => connection.unsafe<Row[]>(text));
  if (!isPending(applied)) return;
  const from = applied.sort().at(-1);
  const versions = from === undefined ? null : { from, to: SCHEMA_VERSION };
  let attempt = 1;
  // Of several servers that start at once, the first one migrates, and the log of that one says so.
  const begin = async (run: Run): Promise<boolean> => {
    if (!isPending(await readOwn(run))) return false;
    if (versions && attempt === 1) options.migrates?.(versions);
    return true;
  };
  for (; ; attempt++) {
    try {
      // Kysely takes another schema's table for its own.
      const isDone = await migrateAlone(connection, String(place["schema"]), options, begin);
      if (isDone && versions) options.migrated?.({ ...versions, backup: null });
      return;
    } catch (error) {
      if (!isDeadlock(error) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Whether another program's locks ended a migration: servers of older versions read tables in another order. */
const isDeadlock = (error: unknown) => error instanceof DomainError && sqlStateOf(error.cause) === "40P01";

type Run = (text: string) => Promise<Row[]>;

/** Other schemas in search_path that have tables of podkeep: without this, data would seem lost beside a new, empty schema. */
const SCHEMAS_BEHIND = `select schemaname as schema from pg_catalog.pg_tables
  where tablename = '${MIGRATION_TABLE}' and schemaname = any (current_schemas(false)) and schemaname <> current_schema()`;

/** The names of the applied migrations; null if there are other tables. */
async function readApplied(run: Run): Promise<string[] | null> {
  const list = "select tablename from pg_catalog.pg_tables where schemaname = current_schema()";
  const tables = (await run(list)).map((row) => row["tablename"]);
  if (!tables.includes(MIGRATION_TABLE)) return tables.length > 0 ? null : [];
  return (await run(`select name from ${MIGRATION_TABLE}`)).map((row) => String(row["name"]));
}

/** Without Kysely's locks: they belong to a connection, which PgBouncer gives to somebody else after a transaction. */
class MigrationDialect extends PostgresJSDialect {
  override createAdapter() {
    return Object.assign(super.createAdapter(), { acquireMigrationLock: pass, releaseMigrationLock: pass });
  }
}

const pass = async () => {};

// The connection has limits, and the database may have others. transaction_timeout is only known to PostgreSQL 17 and later.
const WITHOUT_LIMITS = `select set_config(name, '0', true) from pg_settings where name in
  ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`;

/**
 * Migrates in one transaction, in which it waits for others that migrate.
 * @param begin called after the wait; false if another one migrated in that time
 * @returns whether this one did
 */
async function migrateAlone(
  connection: SQL,
  schema: string,
  { timeout, awaits }: UpgradeOptions,
  begin: (run: Run) => Promise<boolean>,
): Promise<boolean> {
  let failed: unknown;
  const kysely = new Kysely<Schema>({
    dialect: new MigrationDialect({ postgres: connection }),
    // Kysely goes on after an error, and throws the next one.
    log: (event) => {
      if (event.level === "error") failed ??= event.error;
    },
  });
  return kysely.connection().execute(async (db) => {
    const run = async (text: string) => (await sql.raw<Row>(text).execute(db)).rows;
    await run(WRITE);
    try {
      await run(WITHOUT_LIMITS);
      await run("set local lock_timeout = 0");
      const [lock] = await run(`select pg_try_advisory_xact_lock(${MIGRATION_LOCK}) as taken`);
      if (!lock?.["taken"]) {
        awaits?.();
        await run(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`);
      }
      // Other programs keep tables longer, such as a dump; while a migration waits for one, requests wait behind it.
      await run(`set local lock_timeout = ${Math.ceil(timeout / 2)}`);
      const isPending = await begin(run);
      if (isPending) await migrate(db, DIALECT, schema);
      await run("commit");
      return isPending;
    } catch (error) {
      await run("rollback").catch(pass);
      throw failed ? notMigrated(failed) : error;
    }
  });
}

const searchPathIn = (url: string) => new URL(url).searchParams.get("search_path");
const withoutSpaces = (text: string) => text.replaceAll(" ", "");

/** The error for a pooler that refuses the URL's search_path, or ignores it: the tables would be in another schema. */
function wrongSearchPath(url: string): DomainError {
  const { server, user, database } = describeServer(url);
  const setting = `alter role ${user} in database ${database} set search_path = ${searchPathIn(url)}`;
  const advice = `leave it out there, and run ${setting}`;
  return new DomainError("config", `PgBouncer at ${server} does not take search_path from the URL: ${advice}`);
}

/** The file in the URL that can't be read, with the reason, neither of which Bun says; null if there is none. */
function describeUnreadable(url: string): string | null {
  for (const [name, file] of new URL(url).searchParams) {
    if (!/^ssl(rootcert|cert|key)$/.test(name)) continue;
    try {
      readFileSync(file);
    } catch (error) {
      return `${name} in its URL, ${file}, can't be read (${reasonOf(error)})`;
    }
  }
  return null;
}

function refusal(error: unknown, url: string): DomainError {
  if (refusedParameter(error) === "search_path") return wrongSearchPath(url);
  const { server, user, database } = describeServer(url);
  const refuse = (code: "config" | "unavailable", reason: string) =>
    new DomainError(code, `PostgreSQL at ${server} ${reason}`, { cause: error });
  const refused = error instanceof DomainError ? error.cause : error;
  if (sqlStateOf(refused) === "55P03") {
    const found = `can't migrate ${database} while another program, such as pg_dump, uses its tables`;
    return refuse("unavailable", `${found}: try again when it has ended`);
  }
  if (sqlStateOf(refused) === "42501")
    return refuse("config", `refuses ${user} in ${database} (${messageOf(refused)}): make ${user} its owner`);
  if (error instanceof DomainError) return error;
  const state = sqlStateOf(error);
  const unreadable = codeOf(error) === "ERR_INVALID_ARG_TYPE" ? describeUnreadable(url) : null;
  if (unreadable) return refuse("config", `can't be used: ${unreadable}`);
  const pooler = findPoolerFault(error, `PostgreSQL at ${server} can't be used. `);
  if (pooler) return pooler;
  if (state.startsWith("28"))
    return refuse("config", `refuses the login of ${user || "the user"}: ${messageOf(error)}`);
  if (state === "3D000") return refuse("config", `has no database ${database}`);
  const isAway = state === "" && isLost(error);
  return refuse("unavailable", `${isAway ? "can't be reached" : "can't be used"}: ${reasonOf(error)}`);
}
