// PostgreSQL connections and their errors.
import { type ReservedSQL, SQL } from "bun";
import type { CompiledQuery } from "kysely";
import { DomainError, messageOf } from "../../errors.ts";

export interface PoolOptions {
  /** postgres://user:password@host:port/database */
  url: string;
  /** Maximum connections. */
  size: number;
  /** Milliseconds that connecting, waiting for a connection, and a statement may take. */
  timeout: number;
}

/** Milliseconds after the server's own statement timeout: no response by then means a dead connection. */
const GRACE = 250;

/**
 * The parts of a PostgreSQL URL that may be shown, so without the password.
 * @throws DomainError "config" if it is not a URL
 */
export function describeServer(url: string): { server: string; user: string; database: string } {
  try {
    const { hostname, port, username, pathname } = new URL(url);
    const user = decodeURIComponent(username);
    const database = decodeURIComponent(pathname.slice(1)) || user;
    return { server: `${hostname || "localhost"}:${port || 5432}`, user, database };
  } catch {
    const example = "postgres://user:password@host:5432/database";
    throw new DomainError("config", `The PostgreSQL URL can't be read (example: ${example})`);
  }
}

/** Seconds after which a client may try again. */
const RETRY_AFTER = 5;

/** The server's own limits. A process that hangs must not keep a user's row locked. @param limit milliseconds */
const timeLimits = (limit: number) => ({
  statement_timeout: limit,
  idle_in_transaction_session_timeout: limit,
});

/** One connection of Bun's, opened when needed. @param limit milliseconds that a statement may take; 0 for any */
export function connect({ url, timeout }: PoolOptions, limit: number): SQL {
  const { database } = describeServer(url);
  return new SQL({
    url,
    adapter: "postgres",
    // PGDATABASE would go before the one in the URL.
    ...(database ? { database } : {}),
    max: 1,
    bigint: true,
    connectionTimeout: Math.ceil(timeout / 1000),
    connection: { application_name: "podkeep", ...timeLimits(limit) },
  });
}

type Statement = Pick<CompiledQuery, "sql" | "parameters">;

/** A connection, and how long it has not responded. */
class Connection {
  /** Whether a transaction has it. */
  taken = false;
  readonly #sql: SQL;
  #waiting = 0;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #dead = false;

  /** @param onDeath called once if it is closed, because it did not respond in time */
  constructor(
    private readonly options: PoolOptions,
    private readonly onDeath: () => void,
  ) {
    this.#sql = connect(options, options.timeout);
  }

  /** Statements without a response. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Runs a statement after those that were sent before. @param limit milliseconds, if they are fewer than a statement has */
  run({ sql, parameters }: Statement, on: SQL = this.#sql, limit?: number): Promise<Row[]> {
    return this.#watch(async () => Array.from(await on.unsafe<Row[]>(sql, [...parameters]), readBigints), limit);
  }

  /** Takes the connection itself, which is lost if it closes. Bun closes one that is released inside a transaction. */
  reserve(limit: number): Promise<ReservedSQL> {
    return this.#watch(() => this.#sql.reserve(), limit);
  }

  /** @param now true to fail running statements instead of waiting for them */
  close(now = false): Promise<void> {
    clearTimeout(this.#silence);
    return this.#sql.close(now ? { timeout: 0 } : {});
  }

  async #watch<T>(act: () => Promise<T>, limit = this.options.timeout): Promise<T> {
    if (this.#waiting++ === 0 && !this.#dead) this.#listen(limit);
    try {
      return await act();
    } catch (error) {
      throw this.#dead ? unavailable(error) : error;
    } finally {
      clearTimeout(this.#silence);
      if (--this.#waiting > 0 && !this.#dead) this.#listen(this.options.timeout);
    }
  }

  #listen(limit: number): void {
    this.#silence = setTimeout(() => {
      this.#dead = true;
      this.onDeath();
      this.close(true).catch(() => {});
    }, limit + GRACE);
  }
}

/** A connection that a transaction has for itself. */
export interface Reserved {
  run(query: Statement): Promise<Row[]>;
  release(): Promise<void>;
}

interface Waiter {
  exclusive: boolean;
  resolve(connection: Connection): void;
}

/**
 * Connections, opened when needed. Each transaction has one for itself; other statements share those that are left. One
 * that does not respond is closed, without the others.
 */
export class Pool {
  readonly #connections = new Set<Connection>();
  readonly #waiters = new Set<Waiter>();

  constructor(private readonly options: PoolOptions) {}

  /**
   * Runs a statement outside transactions.
   * @param end when a connection must have responded, in milliseconds of performance.now()
   * @throws DomainError "unavailable" if none is free or responds by then
   */
  async run(query: Statement, end: number): Promise<Row[]> {
    const connection = await this.#take(false, end);
    return connection.run(query, undefined, end - performance.now());
  }

  /** Begins a transaction with this statement. @param end as of run() @throws as run() does */
  async begin(begin: string, end: number): Promise<Reserved> {
    const connection = await this.#take(true, end);
    let reserved: ReservedSQL | undefined;
    const release = async () => {
      await reserved?.release();
      connection.taken = false;
      this.#serveWaiters();
    };
    try {
      const sql = await connection.reserve(end - performance.now());
      reserved = sql;
      await connection.run({ sql: begin, parameters: [] }, sql, end - performance.now());
      return { run: (query) => connection.run(query, sql), release };
    } catch (error) {
      await release();
      throw error;
    }
  }

  /** Waits for running statements, then closes all connections. */
  async close(): Promise<void> {
    await Promise.all([...this.#connections].map((one) => one.close()));
  }

  /** The connection with the fewest statements under way; null if transactions have all. */
  #free(): Connection | null {
    let best: Connection | null = null;
    for (const one of this.#connections) if (!one.taken && (!best || one.waiting < best.waiting)) best = one;
    if (best?.waiting === 0 || this.#connections.size >= this.options.size) return best;
    const added: Connection = new Connection(this.options, () => {
      this.#connections.delete(added);
      this.#serveWaiters();
    });
    this.#connections.add(added);
    return added;
  }

  #take(exclusive: boolean, end: number): Connection | Promise<Connection> {
    const connection = this.#free();
    if (!connection) return this.#wait(exclusive, end);
    connection.taken = exclusive;
    return connection;
  }

  #wait(exclusive: boolean, end: number): Promise<Connection> {
    const { promise, resolve, reject } = Promise.withResolvers<Connection>();
    const waiter = { exclusive, resolve };
    this.#waiters.add(waiter);
    const { size, timeout } = this.options;
    const timer = setTimeout(() => {
      this.#waiters.delete(waiter);
      const message = `None of the ${size} database connections was free within ${timeout} ms (PODKEEP_DATABASE_POOL)`;
      reject(new DomainError("unavailable", message, { retry_after: RETRY_AFTER }));
    }, end - performance.now());
    return promise.finally(() => clearTimeout(timer));
  }

  #serveWaiters(): void {
    for (const waiter of this.#waiters) {
      const connection = this.#free();
      if (!connection) return;
      connection.taken = waiter.exclusive;
      this.#waiters.delete(waiter);
      waiter.resolve(connection);
    }
  }
}

/** A row as PostgreSQL sends it. */
export type Row = Record<string, unknown>;

// Counters and timestamps stay far below 2^53.
function readBigints(row: Row): Row {
  for (const column in row) if (typeof row[column] === "bigint") row[column] = Number(row[column]);
  return row;
}

/** The SQLSTATE of an error that the server sent; empty for other errors. */
export const sqlStateOf = (error: unknown) => (error instanceof SQL.PostgresError ? (error.errno ?? "") : "");

/** Whether the server asks for the transaction to be run again. */
export function isConflict(error: unknown): boolean {
  // 23505 and 23503: the next attempt sees the row that another transaction inserted or deleted.
  return /^(40001|40P01|23505|23503)$/.test(sqlStateOf(error));
}

/**
 * Whether a statement was prepared before a migration changed the types of its columns. The next attempt prepares it
 * again; each connection has its own.
 */
export const isOutdated = (error: unknown) => sqlStateOf(error) === "0A000";

/** Whether the connection was lost, so that an uncommitted transaction changed nothing. */
export function isLost(error: unknown): boolean {
  if (!(error instanceof SQL.PostgresError)) return false;
  return error.errno ? /^(08|57P)/.test(error.errno) : /CONNECTION|TIMEOUT/.test(error.code);
}

/** What to set in PgBouncer, if this error says that it gets in the way; else null. */
export function describePooler(error: unknown): string | null {
  const state = sqlStateOf(error);
  // A prepared statement that exists on another connection only, or that another client made on this one.
  if (state === "26000" || state === "42P05") {
    return "PgBouncer mixes up prepared statements: set max_prepared_statements = 200 (needs PgBouncer 1.21), or pool_mode = session";
  }
  if (state === "08P01" && /unsupported startup parameter/.test(messageOf(error))) {
    return `PgBouncer refuses the time limits: set ignore_startup_parameters = ${Object.keys(timeLimits(0)).join(",")}`;
  }
  return null;
}

/** The error that callers get: "unavailable" if the server's reason may pass, "invalid" for text with a NUL. */
export function translate(error: unknown): unknown {
  if (sqlStateOf(error) === "22021") {
    return new DomainError("invalid", "A text has a character that can't be stored", { cause: error });
  }
  const pooler = describePooler(error);
  if (pooler) return new DomainError("unavailable", pooler, { cause: error });
  // Out of resources, lock or statement timeout, a standby, a failing disk, a changing login.
  const refused = /^(40|53|55P03|57|58|25006|28)/.test(sqlStateOf(error));
  return refused || isLost(error) ? unavailable(error) : error;
}

const unavailable = (cause: unknown) =>
  new DomainError("unavailable", "The database can't be reached now", { retry_after: RETRY_AFTER, cause });
