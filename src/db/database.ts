// The seam between statements and engines: everything above db/ knows a database by this interface alone.
import type { Connection } from "./statement.ts";

export interface Database {
  /** Runs reads on one consistent snapshot that holds everything committed before the call. */
  read<T>(work: (on: Connection) => Promise<T>): Promise<T>;
  /**
   * Runs one write transaction and resolves when it is durable. `work` may run more than once, so it has no effect
   * outside the database. Calls with the same `queue` run one after the other.
   * @throws DomainError "unavailable" where the database can't be written now; nothing was changed, or it is unknown
   */
  write<T>(work: (on: Connection) => Promise<T>, queue?: string): Promise<T>;
  /** Waits for what is under way, then releases the database. */
  close(): Promise<void>;
}
