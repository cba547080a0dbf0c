// PostgreSQL connections.
import { type ReservedSQL, SQL } from "bun";
import type { CompiledQuery } from "kysely";
import { parsePostgresUrl } from "../../config/values.ts";
import { DomainError, messageOf, unavailableNow } from "../../errors.ts";
import { isReadOnly, mayLackColumns, timeLimits, unavailable } from "./errors.ts";

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
type Begin = typeof WRITE | typeof READ;

/** Milliseconds after the server's own statement timeout: no response by then means a dead connection. */
const GRACE = 250;

/** Milliseconds between two times that all connections are replaced. */
const RENEWAL = 1000;

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

type Statement = Pick<CompiledQuery, "sql" | "parameters">;

/** A connection, and how long it has not responded. */
class Connection {
  /** How the transaction began that has it; null if none has. */
  taken: Begin | null = null;
  #waiting = 0;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #dead = false;

  /**
   * @param onEnd called if it is closed, because it did not respond in time or may give rows without their columns
   * @param onReadOnly called if it leads to a server that takes no changes
   */
  constructor(
    private readonly sql: SQL,
    private readonly options: PoolOptions,
    private readonly onEnd: () => void,
    private readonly onReadOnly: () => void,
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
    clearTimeout(this.#silence);
    return this.sql.close(now ? { timeout: 0 } : {});
  }

  async #watch<T>(act: () => Promise<T>, limit = this.options.timeout): Promise<T> {
    if (this.#waiting++ === 0 && !this.#dead) this.#listen(limit);
    try {
      return await act();
    } catch (error) {
      if (isReadOnly(error)) this.onReadOnly();
      else if (mayLackColumns(error)) this.#end();
      throw this.#dead ? unavailable(error, "did not respond in time") : error;
    } finally {
      clearTimeout(this.#silence);
      if (--this.#waiting > 0 && !this.#dead) this.#listen(this.options.timeout);
    }
  }

  #listen(limit: number): void {
    this.#silence = setTimeout(() => {
      this.#dead = true;
      this.#end(true);
    }, limit + GRACE);
  }

  #end(now = false): void {
    this.onEnd();
    this.close(now).catch(() => {});
  }
}

/** A connection that a transaction has for itself. */
interface Reserved {
  run(query: Statement): Promise<Row[]>;
  release(): Promise<void>;
}

interface Waiter {
  begin: Begin | null;
  resolve(connection: Connection): void;
}

/**
 * Connections, opened when needed. Each transaction has one for itself; other statements, such as those of polls, share
 * those that are left: from 5 on, transactions leave a fifth of them. Reads, which may take long, have half at most. One that does
 * not respond is closed, without the others.
 */
export class Pool {
  readonly #connections = new Set<Connection>();
  readonly #waiters = new Set<Waiter>();
  /** When all connections were replaced. */
  #renewed = Number.NEGATIVE_INFINITY;

  /** @param first a connection with the pool's limits, which it closes with the others */
  constructor(
    private readonly options: PoolOptions,
    first: SQL,
  ) {
    this.#add(first);
  }

  /**
   * Runs a statement outside transactions.
   * @param end when a connection must have responded, in milliseconds of performance.now()
   * @throws DomainError "unavailable" if none is free or responds by then
   */
  async run(query: Statement, end: number): Promise<Row[]> {
    const connection = await this.#take(null, end);
    return connection.run(query, undefined, end - performance.now());
  }

  /** Begins a transaction with this statement. @param end as of run() @throws as run() does */
  async begin(begin: Begin, end: number): Promise<Reserved> {
    const connection = await this.#take(begin, end);
    let reserved: ReservedSQL | undefined;
    const release = async () => {
      await reserved?.release();
      connection.taken = null;
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

  /** The connection with the fewest statements under way; null if transactions have all that they may have. */
  #free(begin: Begin | null): Connection | null {
    if (begin !== null && this.#isFull(begin)) return null;
    let best: Connection | null = null;
    for (const one of this.#connections) if (!one.taken && (!best || one.waiting < best.waiting)) best = one;
    if (best?.waiting === 0 || this.#connections.size >= this.options.size) return best;
    return this.#add(connect(this.options, this.options.timeout));
  }

  #add(sql: SQL): Connection {
    const onEnd = () => {
      this.#connections.delete(added);
      this.#serveWaiters();
    };
    const added: Connection = new Connection(sql, this.options, onEnd, () => this.#renew());
    this.#connections.add(added);
    return added;
  }

  #isFull(begin: Begin): boolean {
    const { size } = this.options;
    const taken = [...this.#connections].flatMap((one) => one.taken ?? []);
    const reads = taken.filter((one) => one === READ).length;
    return taken.length >= size - Math.floor(size / 5) || (begin === READ && reads >= Math.ceil(size / 2));
  }

  /** Opens other connections from now on: after a failover the same address can lead to another server. */
  #renew(): void {
    const now = performance.now();
    if (now < this.#renewed + RENEWAL) return;
    this.#renewed = now;
    for (const one of this.#connections) one.close().catch(() => {});
    this.#connections.clear();
    this.#serveWaiters();
  }

  #take(begin: Begin | null, end: number): Connection | Promise<Connection> {
    const connection = this.#free(begin);
    if (!connection) return this.#wait(begin, end);
    connection.taken = begin;
    return connection;
  }

  #wait(begin: Begin | null, end: number): Promise<Connection> {
    const { promise, resolve, reject } = Promise.withResolvers<Connection>();
    const waiter = { begin, resolve };
    this.#waiters.add(waiter);
    const { size, timeout } = this.options;
    const timer = setTimeout(() => {
      this.#waiters.delete(waiter);
      const message = `None of the ${size} database connections was free within ${timeout} ms (PODKEEP_DATABASE_POOL)`;
      reject(unavailableNow(message));
    }, end - performance.now());
    return promise.finally(() => clearTimeout(timer));
  }

  #serveWaiters(): void {
    const refused = new Set<Begin | null>();
    for (const waiter of this.#waiters) {
      const connection = refused.has(waiter.begin) ? null : this.#free(waiter.begin);
      if (!connection) refused.add(waiter.begin);
      else {
        connection.taken = waiter.begin;
        this.#waiters.delete(waiter);
        waiter.resolve(connection);
      }
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
