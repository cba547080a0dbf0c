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
  /** Whether statements run without a timeout. */
  unlimited?: boolean;
}

/** Milliseconds after the server's own statement timeout: no response by then means a dead connection. */
const GRACE = 2000;

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

/** The server's own limits. A process that hangs must not keep a user's row locked. @param limit milliseconds */
const timeLimits = (limit: number) => ({
  statement_timeout: limit,
  idle_in_transaction_session_timeout: limit,
});

/** Connects when needed. It closes for good if the server does not respond. */
export class Pool {
  readonly sql: SQL;
  #closed = false;

  constructor(private readonly options: PoolOptions) {
    const { url, size, timeout } = options;
    const limit = options.unlimited ? 0 : timeout;
    const { database } = describeServer(url);
    this.sql = new SQL({
      url,
      adapter: "postgres",
      // PGDATABASE would go before the one in the URL.
      ...(database ? { database } : {}),
      max: size,
      bigint: true,
      connectionTimeout: Math.ceil(timeout / 1000),
      connection: {
        application_name: "podkeep",
        ...timeLimits(limit),
      },
    });
  }

  /** Whether the pool was closed, by close() or because the server did not respond. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Takes a connection for a transaction. Bun closes one that is released inside a transaction. */
  reserve(): Promise<ReservedSQL> {
    return this.sql.reserve({ signal: AbortSignal.timeout(this.options.timeout) });
  }

  /** Runs a statement on the reserved connection `on`; without it, on any, after the statements of others. */
  async run({ sql, parameters }: Pick<CompiledQuery, "sql" | "parameters">, on: SQL = this.sql): Promise<Row[]> {
    const { timeout, unlimited } = this.options;
    const timer = unlimited ? undefined : setTimeout(() => this.close(true), timeout + GRACE);
    try {
      return Array.from(await on.unsafe<Row[]>(sql, [...parameters]), readBigints);
    } finally {
      clearTimeout(timer);
    }
  }

  /** @param now true to fail running statements instead of waiting for them */
  async close(now = false): Promise<void> {
    this.#closed = true;
    await this.sql.close(now ? { timeout: 0 } : {});
  }
}

type Row = Record<string, unknown>;

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
  const waited = error instanceof DOMException && error.name === "TimeoutError";
  // Out of resources, lock or statement timeout, a standby, a failing disk, a changing login.
  const refused = /^(40|53|55P03|57|58|25006|28)/.test(sqlStateOf(error));
  if (!waited && !refused && !isLost(error)) return error;
  return new DomainError("unavailable", "The database can't be reached now", { retry_after: 5, cause: error });
}
