// Read snapshots. Reads of one event-loop turn share one, because taking SQLite's locks costs more than most reads.
import type { SqliteConnection } from "./connection.ts";

export class Snapshot {
  #open = false;
  /** Set when the snapshot is to end and reads still use it. */
  #stale = false;
  #readers = 0;
  #ended = Promise.withResolvers<void>();

  constructor(readonly connection: SqliteConnection) {}

  /** Whether reads may join: not if a long one still uses the snapshot of an earlier turn. */
  get isFree(): boolean {
    return !this.#stale;
  }

  /** Resolves when the present snapshot ends. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Runs reads on a snapshot that holds everything committed before the call. Only while it is free. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#open) {
      this.connection.begin("begin");
      this.#open = true;
      setImmediate(() => this.end());
    }
    this.#readers++;
    try {
      return await work();
    } finally {
      this.#readers--;
      if (this.#stale) this.end();
    }
  }

  /** Ends the snapshot when the last read of it ends. Called at the end of the turn and after each commit. */
  end(): void {
    if (!this.#open) return;
    this.#stale = true;
    if (this.#readers > 0) return;
    // The reads have their results: an error concerns the next snapshot only.
    try {
      this.connection.run("commit");
    } catch {
      this.connection.markBroken();
    }
    this.#open = false;
    this.#stale = false;
    this.#ended.resolve();
    this.#ended = Promise.withResolvers<void>();
  }
}
