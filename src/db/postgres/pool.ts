// PostgreSQL connections.
import type { ReservedSQL, SQL } from "bun";
import { unavailableNow } from "../../errors.ts";
import { type Begin, Connection, connect, type PoolOptions, READ, type Row, type Statement } from "./connection.ts";
import { refuseMixing } from "./prepared-statements.ts";

/** Milliseconds between two times that all connections are replaced. */
const RENEWAL = 1000;

/** Milliseconds from a check of prepared statements that failed to the next one. */
const CHECK_PAUSE = 1000;

/** A connection that a transaction has for itself. */
interface Reserved {
  run(query: Statement): Promise<Row[]>;
  release(): Promise<void>;
}

interface Waiter {
  begin: Begin | null;
  resolve(connection: Connection): void;
  reject(error: unknown): void;
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
  /** Whether connections are opened only after a check that each has its own prepared statements. */
  #isSuspended = false;
  /** That check, while it runs. */
  #resuming: Promise<void> | null = null;

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
    const onEnd = () => this.#connections.delete(added);
    const onReadOnly = () => this.#renew();
    const onMixed = (error: unknown) => this.#suspend(error);
    const added: Connection = new Connection(sql, this.options, { onEnd, onReadOnly, onMixed });
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
  }

  /**
   * Ends all connections, because a pooler mixes up their prepared statements: one may run another one's without an error.
   * This happens if the pooler's mode is changed, or if it is put between while servers run.
   */
  #suspend(error: unknown): void {
    this.#isSuspended = true;
    for (const one of this.#connections) one.close(true).catch(() => {});
    this.#connections.clear();
    for (const waiter of this.#waiters) waiter.reject(error);
    this.#waiters.clear();
  }

  /** @throws as refuseMixing() does, while the pooler still mixes up prepared statements */
  async #resume(): Promise<void> {
    const sql = connect(this.options, this.options.timeout);
    try {
      await refuseMixing(new Connection(sql, this.options, {}), this.options);
      this.#isSuspended = false;
      this.#add(sql);
    } catch (error) {
      await sql.close();
      // A check opens connections.
      await Bun.sleep(CHECK_PAUSE);
      throw error;
    }
  }

  async #take(begin: Begin | null, end: number): Promise<Connection> {
    while (this.#isSuspended) {
      this.#resuming ??= this.#resume().finally(() => {
        this.#resuming = null;
      });
      await this.#resuming;
    }
    const connection = this.#free(begin);
    if (!connection) return this.#wait(begin, end);
    connection.taken = begin;
    return connection;
  }

  #wait(begin: Begin | null, end: number): Promise<Connection> {
    const { promise, resolve, reject } = Promise.withResolvers<Connection>();
    const waiter = { begin, resolve, reject };
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
