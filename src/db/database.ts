// The seam between statements and engines: everything above db/ knows a database by this interface alone.
import type { Tx } from "./statement.ts";

/** For those who watch the server. */
export interface DatabaseStatus {
  /** Write transactions that wait for their turn. */
  waiting: number;
  bytes: number;
  /** Size of the write-ahead log, where the engine has one of its own. */
  wal_bytes: number;
}

export interface Database {
  /**
   * Runs reads on one consistent snapshot that holds everything committed before the call; `work` may run more than
   * once.
   * @param isCurrent tells, after `work`, whether nothing of what it read has changed since it began: for engines on
   *   which asking that costs less than a snapshot
   */
  read<T>(work: (tx: Tx) => Promise<T>, isCurrent?: (tx: Tx, result: T) => Promise<boolean>): Promise<T>;
  /**
   * Runs one write transaction and resolves when it is durable. `work` may run more than once, so it has no effect
   * outside the database. Calls with the same `queue` run one after the other.
   * @throws DomainError "unavailable" where the database can't be written now; nothing was changed, or it is unknown
   */
  write<T>(work: (tx: Tx) => Promise<T>, queue?: string): Promise<T>;
  /**
   * Reads from the database and makes sure that it is still the one that others find under its name.
   * @throws DomainError "unavailable" where it is not
   */
  check(): Promise<void>;
  status(): Promise<DatabaseStatus>;
  /** Waits for what is under way, then releases the database. */
  close(): Promise<void>;
}
