// The interface of both engines. Code outside db/ knows a database by it only.
import type { Tx } from "./statement.ts";

/** What opens a database: many commands and one server can use a file, and many servers PostgreSQL. */
export type DatabaseUse = "command" | "server";

/** Figures for the metrics and the doctor. */
export interface DatabaseStatus {
  /** Write transactions in the queue. */
  waiting: number;
  bytes: number;
  /** Size of the write-ahead log in bytes; 0 on PostgreSQL. */
  wal_bytes: number;
}

/**
 * What a write may change of a user's data: everything; only episodes, their plays and the user's clock; or only when a
 * token or session was used last, which no watch sees.
 */
export type Changes = "all" | "episodes" | "uses";

export interface Database {
  /**
   * Runs reads on one consistent snapshot that holds everything committed before the call; `work` may run more than
   * once.
   * @param isCurrent whether nothing that `work` read has changed since it began, for engines on which asking costs
   *   less than a snapshot
   */
  read<T>(work: (tx: Tx) => Promise<T>, isCurrent?: (tx: Tx, result: T) => Promise<boolean>): Promise<T>;
  /**
   * Runs one write transaction and resolves when it is durable. `work` may run more than once, so it has no effect
   * outside the database. Calls with the same `queue`, a user's id, run one at a time.
   * @throws DomainError "unavailable" if the database can't be written now; nothing was changed, unless it is in doubt
   */
  write<T>(work: (tx: Tx) => Promise<T>, queue?: number, changes?: Changes): Promise<T>;
  /**
   * Watches for writes of a user's data, on the engine that can.
   * @param ignored writes that change only this don't count
   * @returns whether there was none since this call that reads may have missed, for a write transaction of that user;
   *   false if that is not known
   */
  watch?(user: number, ignored?: "episodes"): () => boolean;
  /**
   * Reads from the database and checks that its file was not moved or replaced.
   * @throws DomainError "unavailable"
   */
  check(): Promise<void>;
  /**
   * Why writes are refused until a restart: the database's files were moved, deleted or replaced. Null if they were not,
   * and if the data is on a server.
   */
  findLoss(): string | null;
  status(): Promise<DatabaseStatus>;
  /** What is the same for one database under all its names, on the engine that has no file. */
  identify?(): Promise<string>;
  /** Numbers new users from now on after those that a copy brought, on the engine that doesn't do so. */
  numberAfterCopy?(): Promise<void>;
  /** Waits for running transactions, then closes the connections. */
  close(): Promise<void>;
}
