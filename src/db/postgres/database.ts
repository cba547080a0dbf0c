// The engine for several servers: one PostgreSQL database, plain transactions, the user's row as the lock.
import type { SQL } from "bun";
import { inDoubt, isRefusal, unavailableNow } from "../../errors.ts";
import type { Metrics } from "../../metrics.ts";
import { Slots } from "../../slots.ts";
import type { Database, DatabaseStatus } from "../database.ts";
import { describeNewer, MIGRATION_TABLE } from "../migrations/migrate.ts";
import { createQueryBuilder } from "../query-builder.ts";
import { type LockMode, type Query, readAnything, type Tx } from "../statement.ts";
import { WaitingLimit } from "../waiting-limit.ts";
import { READ, type Row, WRITE } from "./connection.ts";
import { isConflict, isLost, isOutdated, isReadOnly, sqlStateOf, translate } from "./errors.ts";
import { Pool } from "./pool.ts";
import { type UpgradeOptions, upgradeDatabase } from "./upgrade.ts";

/** Of all databases of a process, so each statement is compiled once. */
const kysely = createQueryBuilder("postgres");

/** Maximum attempts of a transaction. */
const ATTEMPTS = 5;
/** Maximum milliseconds before the second attempt; doubled for each further one. */
const PAUSE = 20;

interface PostgresOptions extends UpgradeOptions {
  metrics?: Metrics | undefined;
}

/** Connects to the database and migrates it. @throws DomainError as `upgradeDatabase` does */
export async function openPostgres(options: PostgresOptions): Promise<Database> {
  return new PostgresDatabase(options, await upgradeDatabase(options));
}

type Work<T> = (tx: Tx) => Promise<T>;

/** Thrown into a read that began without a transaction and needs one. */
class SnapshotNeeded extends Error {}

class PostgresDatabase implements Database {
  readonly #writers = new Slots(Number.POSITIVE_INFINITY, 1);
  readonly #limit = new WaitingLimit();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #pool: Pool;
  /** Whether a statement failed because another program migrated the database to a newer schema. */
  #isBehind = false;

  constructor(
    private readonly options: PostgresOptions,
    connection: SQL,
  ) {
    this.#pool = new Pool(options, connection);
  }

  read<T>(work: Work<T>, isCurrent?: (tx: Tx, result: T) => Promise<boolean>): Promise<T> {
    return this.#track(this.#attempt((end) => this.#readOnce(end, work, isCurrent)));
  }

  // Writers of one user wait for the same row, and must not take all connections.
  write<T>(work: Work<T>, queue?: number): Promise<T> {
    const act = () => this.#attempt((end) => this.#transaction(end, WRITE, work));
    const inTurn = () => (queue === undefined ? act() : this.#writers.run(act, queue));
    return this.#track(this.#limit.run(queue, inTurn));
  }

  async check(): Promise<void> {
    await this.read((tx) => readAnything(tx, {}));
    // Not before a statement failed: most newer schemas can be used until all servers are replaced.
    const newer = this.#isBehind ? await this.#track(this.#findNewer()) : null;
    if (newer !== null) throw unavailableNow(newer);
  }

  /** What to do about a newer schema; null if this program knows the database's. */
  async #findNewer(): Promise<string | null> {
    const query = { sql: `select name from ${MIGRATION_TABLE}`, parameters: [] };
    const rows = await this.#pool.run(query, performance.now() + this.options.timeout);
    const newer = describeNewer(rows.map(({ name }) => String(name)));
    this.#isBehind = newer !== null;
    return newer;
  }

  findLoss(): null {
    return null;
  }

  async status(): Promise<DatabaseStatus> {
    const [row] = await this.#run("select pg_database_size(current_database()) as bytes");
    return { waiting: this.#writers.waiting, bytes: Number(row?.["bytes"]), wal_bytes: 0 };
  }

  async identify(): Promise<string> {
    const databases = "pg_control_system(), pg_database where datname = current_database()";
    // The number of a table tells schemas apart.
    const [row] = await this.#run(
      `select system_identifier::text, oid, 'users'::regclass::oid as users from ${databases}`,
    );
    return Object.values(row ?? {}).join("/");
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
        if (!again || (counts && attempt === ATTEMPTS)) throw await this.#explain(translate(error));
        if (isConflict(error)) end = now + this.options.timeout;
        if (counts) attempt++;
      }
      await Bun.sleep(Math.random() * PAUSE * 2 ** (attempt - 2));
    }
  }

  /** Says of a statement that failed for no known reason whether a newer schema is the reason. */
  async #explain(error: unknown): Promise<unknown> {
    if (sqlStateOf(error) === "") return error;
    const newer = await this.#findNewer().catch(() => null);
    return newer === null ? error : unavailableNow(newer, error);
  }

  // A transaction costs more than most reads. One statement needs none, nor do several if nothing changed between them.
  async #readOnce<T>(end: number, work: Work<T>, isCurrent?: (tx: Tx, result: T) => Promise<boolean>): Promise<T> {
    let sent = 0;
    const execute = async (query: Query) => {
      if (++sent > 1 && !isCurrent) throw new SnapshotNeeded();
      return this.#pool.run(query, sent > 1 ? performance.now() + this.options.timeout : end);
    };
    const tx: Tx = { kysely, execute };
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
    const lock = (key: number, mode: LockMode) =>
      execute({ sql: `select pg_advisory_xact_lock${mode === "shared" ? "_shared" : ""}(${key})`, parameters: [] });
    const tx: Tx = { kysely, execute, lock };
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
