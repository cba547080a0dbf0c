// Connections to a PostgreSQL server, and what their errors mean.
import { type ReservedSQL, SQL } from "bun";
import type { CompiledQuery } from "kysely";
import { DomainError } from "../../errors.ts";

export interface PoolOptions {
  /** postgres://user:password@host:port/database */
  url: string;
  /** Most connections at a time. */
  size: number;
  /** Milliseconds that connecting, waiting for a connection, and a statement may take. */
  timeout: number;
  /** Whether statements may take as long as they like. */
  unlimited?: boolean;
}

/** Milliseconds after the server should have ended a statement itself: no answer then means a dead connection. */
const GRACE = 2000;

/**
 * A server's address as it may be shown: never with the password.
 * @throws DomainError "config" where the text is no such address
 */
export function describeServer(url: string): { server: string; user: string; database: string } {
  try {
    const { hostname, port, username, pathname } = new URL(url);
    const user = decodeURIComponent(username);
    const database = decodeURIComponent(pathname.slice(1)) || user;
    return { server: `${hostname || "localhost"}:${port || 5432}`, user, database };
  } catch {
    const example = "postgres://user:password@host:5432/database";
    throw new DomainError("config", `The address of PostgreSQL can't be read; it looks like ${example}`);
  }
}

/** Connections that are made when they are needed. It is closed for good where the server gives no answer at all. */
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
        statement_timeout: limit,
        // A process that stands still must not keep a user's row locked.
        idle_in_transaction_session_timeout: limit,
      },
    });
  }

  /** Whether the pool has been closed, be it because the server did not answer. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Takes a connection for a transaction. One that is released inside a transaction is closed by Bun. */
  reserve(): Promise<ReservedSQL> {
    return this.sql.reserve({ signal: AbortSignal.timeout(this.options.timeout) });
  }

  /** Runs a statement on a connection of its own, or on whichever comes next, behind the statements of others. */
  async run({ sql, parameters }: Pick<CompiledQuery, "sql" | "parameters">, on: SQL = this.sql): Promise<Row[]> {
    const { timeout, unlimited } = this.options;
    const timer = unlimited ? undefined : setTimeout(() => this.close(true), timeout + GRACE);
    try {
      return Array.from(await on.unsafe<Row[]>(sql, [...parameters]), readBigints);
    } finally {
      clearTimeout(timer);
    }
  }

  /** @param now to drop statements under way, which fail then, instead of waiting for them */
  async close(now = false): Promise<void> {
    this.#closed = true;
    await this.sql.close(now ? { timeout: 0 } : {});
  }
}

type Row = Record<string, unknown>;

// Counters and stamps stay far below 2^53.
function readBigints(row: Row): Row {
  for (const column in row) if (typeof row[column] === "bigint") row[column] = Number(row[column]);
  return row;
}

/** The SQLSTATE of an error that the server sent. */
export const sqlStateOf = (error: unknown) => (error instanceof SQL.PostgresError ? (error.errno ?? "") : "");

/** Whether the server asks for the transaction to be run again. */
export function isConflict(error: unknown): boolean {
  // A name that was free when the transaction looked, and is taken when it writes, is seen by the next try.
  return /^(40001|40P01|23505)$/.test(sqlStateOf(error));
}

/** Whether the connection is gone, so that a transaction which was not committed did nothing. */
export function isLost(error: unknown): boolean {
  if (!(error instanceof SQL.PostgresError)) return false;
  return error.errno ? /^(08|57P)/.test(error.errno) : /CONNECTION|TIMEOUT/.test(error.code);
}

/** An error as callers get it: "unavailable" where the server refuses for a reason that may pass. */
export function translate(error: unknown): unknown {
  const waited = error instanceof DOMException && error.name === "TimeoutError";
  // Out of resources, lock or statement timeout, a standby, a failing disk, a login that is being changed.
  const refused = /^(40|53|55P03|57|58|25006|28)/.test(sqlStateOf(error));
  if (!waited && !refused && !isLost(error)) return error;
  return new DomainError("unavailable", "The database can't be reached now", { retry_after: 5, cause: error });
}
