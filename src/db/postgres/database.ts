// The engine for several servers: one PostgreSQL database, plain transactions, the user's row as the lock.
import type { SQL } from "bun";
import { Kysely, sql } from "kysely";
import { PostgresJSDialect } from "kysely-postgres-js";
import { DomainError, inDoubt, isRefusal, messageOf } from "../../errors.ts";
import type { Metrics } from "../../metrics.ts";
import type { Database, DatabaseStatus } from "../database.ts";
import { KeyedQueue } from "../keyed-queue.ts";
import type { Dialect } from "../migrations/dialect.ts";
import { MIGRATION_TABLE, type Migrating, migrate, notMigrated, pendingMigrations } from "../migrations/migrate.ts";
import { createQueryBuilder } from "../query-builder.ts";
import type { Schema } from "../schema.ts";
import { type Query, readAnything, type Tx } from "../statement.ts";
import { WaitingLimit } from "../waiting-limit.ts";
import {
  describePooler,
  isConflict,
  isLost,
  isOutdated,
  isReadOnly,
  refusedParameter,
  sqlStateOf,
  translate,
} from "./errors.ts";
import { connect, describeServer, Pool, type PoolOptions, type Row } from "./pool.ts";

export const DIALECT: Dialect = {
  text: 'text collate "C"',
  tableOptions: "",
  prefersRowids: false,
  dropsConstraints: true,
};
/** Kysely's number, by which older versions wait for this one too. */
export const MIGRATION_LOCK = "3853314791062309107";
/** Maximum attempts of a transaction. */
const ATTEMPTS = 5;
/** Maximum milliseconds before the second attempt; doubled for each further one. */
const PAUSE = 20;

interface PostgresOptions extends PoolOptions {
  migrate: Migrating;
  /** Whether it is opened to be filled by a copy. */
  copying?: boolean;
  metrics?: Metrics | undefined;
}

/**
 * Connects to the database and migrates it.
 * @throws DomainError "unavailable" if it can't be reached; "config" if it refuses the login, is not ours, or is from
 * a newer program
 */
export async function openPostgres(options: PostgresOptions): Promise<Database> {
  // Without statement timeout, because another process may be migrating.
  const first = connect(options, 0);
  try {
    await prepare(first, options);
  } catch (error) {
    throw refusal(error, options.url);
  } finally {
    await first.close();
  }
  return new PostgresDatabase(options);
}

async function prepare(connection: SQL, { url, migrate: migrating, copying }: PostgresOptions): Promise<void> {
  const { server, database } = describeServer(url);
  const [place] = await connection.unsafe<Row[]>(
    "select current_schema() as schema, getdatabaseencoding() as encoding, current_setting('search_path') as path",
  );
  const wanted = searchPathIn(url);
  if (wanted !== null && withoutSpaces(String(place?.["path"])) !== withoutSpaces(wanted)) throw wrongSearchPath(url);
  if (place?.["schema"] === null) {
    throw new DomainError("config", `${database} on ${server} has none of the schemas in search_path: create one`);
  }
  if (place?.["encoding"] !== "UTF8") {
    throw new DomainError("config", `${database} on ${server} is in ${place?.["encoding"]}: create it in UTF8`);
  }
  const isPending = async (run: Run) => {
    const applied = await readApplied(run);
    if (applied) return pendingMigrations(applied, DIALECT, migrating, copying).length > 0;
    throw new DomainError("config", `${database} on ${server} is not a podkeep database: it holds other tables`);
  };
  if (await isPending((text) => connection.unsafe<Row[]>(text))) {
    // Kysely takes another schema's table for its own.
    await migrateAlone(connection, String(place["schema"]), isPending);
  }
}

type Run = (text: string) => Promise<Row[]>;

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

// The database may have its own limits. transaction_timeout is only known to PostgreSQL 17 and later.
const WITHOUT_LIMITS = `select set_config(name, '0', true) from pg_settings where name in
  ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`;

/** Migrates in one transaction, in which it waits for others that migrate. @param isPending asked again after that */
async function migrateAlone(connection: SQL, schema: string, isPending: (run: Run) => Promise<boolean>): Promise<void> {
  let failed: unknown;
  const kysely = new Kysely<Schema>({
    dialect: new MigrationDialect({ postgres: connection }),
    // Kysely goes on after an error, and throws the next one.
    log: (event) => {
      if (event.level === "error") failed ??= event.error;
    },
  });
  await kysely.connection().execute(async (db) => {
    const run = async (text: string) => (await sql.raw<Row>(text).execute(db)).rows;
    await run(WRITE);
    try {
      await run(WITHOUT_LIMITS);
      await run("set local lock_timeout = 0");
      await run(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`);
      // Not for tables that other programs lock: while a migration waits for one, requests wait behind it.
      await run("set local lock_timeout to default");
      if (await isPending(run)) await migrate(db, DIALECT, schema);
      await run("commit");
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

function refusal(error: unknown, url: string): DomainError {
  if (refusedParameter(error) === "search_path") return wrongSearchPath(url);
  const { server, user, database } = describeServer(url);
  const refuse = (code: "config" | "unavailable", reason: string) =>
    new DomainError(code, `PostgreSQL at ${server} ${reason}`, { cause: error });
  const refused = error instanceof DomainError ? error.cause : error;
  if (sqlStateOf(refused) === "42501")
    return refuse("config", `refuses ${user} in ${database} (${messageOf(refused)}): make ${user} its owner`);
  if (error instanceof DomainError) return error;
  const state = sqlStateOf(error);
  const pooler = describePooler(error);
  if (pooler) return refuse("unavailable", `can't be used. ${pooler}`);
  if (state.startsWith("28"))
    return refuse("config", `refuses the login of ${user || "the user"}: ${messageOf(error)}`);
  if (state === "3D000") return refuse("config", `has no database ${database}`);
  return refuse("unavailable", state || !isLost(error) ? `can't be used: ${messageOf(error)}` : "can't be reached");
}

// The level is said, because a database can have another default: lockUser must see what the one before it committed.
const WRITE = "begin isolation level read committed";
const READ = "begin isolation level repeatable read, read only";

type Work<T> = (tx: Tx) => Promise<T>;

/** Thrown into a read that began without a transaction and needs one. */
class SnapshotNeeded extends Error {}

class PostgresDatabase implements Database {
  readonly #writers = new KeyedQueue();
  readonly #limit = new WaitingLimit();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #kysely: Kysely<Schema>;
  readonly #pool: Pool;

  constructor(private readonly options: PostgresOptions) {
    this.#pool = new Pool(options);
    this.#kysely = createQueryBuilder(new PostgresJSDialect({ postgres: connect(options, 0) }));
  }

  read<T>(work: Work<T>, isCurrent?: (tx: Tx, result: T) => Promise<boolean>): Promise<T> {
    return this.#track(this.#attempt((end) => this.#readOnce(end, work, isCurrent)));
  }

  // Writers of one user wait for the same row, and must not take all connections.
  write<T>(work: Work<T>, queue?: number): Promise<T> {
    const act = () => this.#attempt((end) => this.#transaction(end, WRITE, work));
    const inTurn = () => (queue === undefined ? act() : this.#writers.run(queue, act));
    return this.#track(this.#limit.run(queue, inTurn));
  }

  async check(): Promise<void> {
    await this.read((tx) => readAnything(tx, {}));
  }

  findLoss(): null {
    return null;
  }

  async status(): Promise<DatabaseStatus> {
    const [row] = await this.#run("select pg_database_size(current_database()) as bytes");
    return { waiting: this.#writers.waiting, bytes: Number(row?.["bytes"]), wal_bytes: 0 };
  }

  async numberAfterCopy(): Promise<void> {
    const last = "greatest(max(id), (select last_value from users_id_seq))";
    await this.#run(`select setval('users_id_seq', ${last}) from users`);
  }

  #run(sql: string): Promise<Row[]> {
    return this.#track(this.#attempt((end) => this.#pool.run({ sql, parameters: [] }, end)));
  }

  async close(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
    await this.#pool.close();
  }

  async #track<T>(act: Promise<T>): Promise<T> {
    this.#underWay.add(act);
    try {
      return await act;
    } finally {
      this.#underWay.delete(act);
    }
  }

  /** @param act has until `end` (of performance.now()) to get a connection that responds */
  async #attempt<T>(act: (end: number) => Promise<T>): Promise<T> {
    let end = performance.now() + this.options.timeout;
    for (let attempt = 1; ; ) {
      try {
        return await act(end);
      } catch (error) {
        const now = performance.now();
        const isAway = isLost(error) || isReadOnly(error);
        const again = isConflict(error) || ((isAway || isOutdated(error)) && now < end);
        // An outdated plan uses up no attempt: other connections have one too.
        const counts = !isOutdated(error);
        if (!again || (counts && attempt === ATTEMPTS)) throw translate(error);
        if (isConflict(error)) end = now + this.options.timeout;
        if (counts) attempt++;
      }
      await Bun.sleep(Math.random() * PAUSE * 2 ** (attempt - 2));
    }
  }

  // A transaction costs more than most reads. One statement needs none, nor do several if nothing changed between them.
  async #readOnce<T>(end: number, work: Work<T>, isCurrent?: (tx: Tx, result: T) => Promise<boolean>): Promise<T> {
    let sent = 0;
    const execute = async (query: Query) => {
      if (++sent > 1 && !isCurrent) throw new SnapshotNeeded();
      return this.#pool.run(query, sent > 1 ? performance.now() + this.options.timeout : end);
    };
    const tx: Tx = { kysely: this.#kysely, execute };
    try {
      const result = await work(tx);
      if (sent <= 1 || (await isCurrent?.(tx, result))) return result;
    } catch (error) {
      if (sent <= 1 || isRefusal(error, "unavailable")) throw error;
    }
    return this.#transaction(performance.now() + this.options.timeout, READ, work);
  }

  async #transaction<T>(end: number, begin: typeof WRITE | typeof READ, work: Work<T>): Promise<T> {
    const reserved = await this.#pool.begin(begin, end);
    const control = (sql: string) => reserved.run({ sql, parameters: [] });
    let failed: { error: unknown } | undefined;
    const execute = (query: Query) =>
      reserved.run(query).catch((error) => {
        failed = { error };
        throw error;
      });
    const tx: Tx = { kysely: this.#kysely, execute };
    try {
      const result = await work(tx);
      // After a failed statement PostgreSQL rolls back at COMMIT, and reports success.
      if (failed) throw failed.error;
      const start = performance.now();
      await control("commit").catch((error) => {
        // What it wrote may have been committed: no other attempt.
        throw begin === READ || isConflict(error) ? error : inDoubt(translate(error));
      });
      if (begin === WRITE) this.options.metrics?.committed(1, (performance.now() - start) / 1000);
      return result;
    } catch (error) {
      await control("rollback").catch(() => {});
      throw error;
    } finally {
      await reserved.release();
    }
  }
}
