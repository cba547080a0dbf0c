// A PostgreSQL connection.
import { type ReservedSQL, SQL } from "bun";
import type { CompiledQuery } from "kysely";
import { parsePostgresUrl } from "../../config/values.ts";
import { DomainError, messageOf } from "../../errors.ts";
import { isReadOnly, mayLackColumns, mixesStatements, timeLimits, unavailable } from "./errors.ts";

export interface PoolOptions {
  /** postgres://user:password@host:port/database */
  url: string;
  /** Maximum connections. */
  size: number;
  /** Milliseconds that connecting, waiting for a connection, and a statement may take. */
  timeout: number;
}

// The level is said, because a database can have another default: lockUser must see what the one before it committed.
export const WRITE = "begin isolation level read committed";
export const READ = "begin isolation level repeatable read, read only";
export type Begin = typeof WRITE | typeof READ;

/** Milliseconds after the server's own statement timeout: no response by then means a dead connection. */
const GRACE = 250;

/** As parsePostgresUrl(). @throws DomainError "config" if it can't be read */
export function describeServer(url: string): ReturnType<typeof parsePostgresUrl> {
  try {
    return parsePostgresUrl(url);
  } catch (error) {
    throw new DomainError("config", `The PostgreSQL URL ${messageOf(error)}`);
  }
}

/**
 * One connection of Bun's, opened when needed.
 * @param limit milliseconds that a statement may take; 0 for any
 * @throws DomainError "config" if the URL or a parameter in it is wrong
 */
export function connect({ url, timeout }: PoolOptions, limit: number): SQL {
  const { server, database } = describeServer(url);
  try {
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
  } catch (error) {
    throw new DomainError("config", `PostgreSQL at ${server} can't be used: ${messageOf(error)}`, { cause: error });
  }
}

export type Statement = Pick<CompiledQuery, "sql" | "parameters">;

/** What a pool does about its connections. */
interface Events {
  /** A connection is closed, because it did not respond in time or may give rows without their columns. */
  onEnd(): void;
  /** A connection leads to a server that takes no changes. */
  onReadOnly(): void;
  /** A pooler mixes up the prepared statements of its clients. */
  onMixed(error: unknown): void;
}

/** A connection, and how long it has not responded. */
export class Connection {
  /** How the transaction began that has it; null if none has. */
  taken: Begin | null = null;
  #waiting = 0;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #dead = false;

  constructor(
    private readonly sql: SQL,
    private readonly options: PoolOptions,
    private readonly events: Partial<Events>,
  ) {}

  /** Statements without a response. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Runs a statement after those that were sent before. @param limit milliseconds, if they are fewer than a statement has */
  run({ sql, parameters }: Statement, on: SQL = this.sql, limit?: number): Promise<Row[]> {
    return this.#watch(async () => Array.from(await on.unsafe<Row[]>(sql, [...parameters]), readBigints), limit);
  }

  /** Takes the connection itself, which is lost if it closes. Bun closes one that is released inside a transaction. */
  reserve(limit: number): Promise<ReservedSQL> {
    return this.#watch(() => this.sql.reserve(), limit);
  }

  /** @param now true to fail running statements instead of waiting for them */
  close(now = false): Promise<void> {
    return this.sql.close(now ? { timeout: 0 } : {});
  }

  async #watch<T>(act: () => Promise<T>, limit = this.options.timeout): Promise<T> {
    if (this.#waiting++ === 0) this.#listen(limit);
    try {
      return await act();
    } catch (error) {
      if (isReadOnly(error)) this.events.onReadOnly?.();
      else if (mixesStatements(error)) this.events.onMixed?.(error);
      else if (mayLackColumns(error)) this.#end();
      throw this.#dead ? unavailable(error, "did not respond in time") : error;
    } finally {
      clearTimeout(this.#silence);
      if (--this.#waiting > 0) this.#listen(this.options.timeout);
    }
  }

  #listen(limit: number): void {
    this.#silence = setTimeout(() => {
      this.#dead = true;
      this.#end(true);
    }, limit + GRACE);
  }

  #end(now = false): void {
    this.events.onEnd?.();
    this.close(now).catch(() => {});
  }
}

/** A row as PostgreSQL sends it. */
export type Row = Record<string, unknown>;

// Counters and timestamps stay far below 2^53.
function readBigints(row: Row): Row {
  for (const column in row) if (typeof row[column] === "bigint") row[column] = Number(row[column]);
  return row;
}
