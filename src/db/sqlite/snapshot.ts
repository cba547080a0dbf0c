// Reads of one event-loop turn share one read transaction: taking SQLite's locks costs more than most reads do.

/** Hands out one snapshot per turn on a connection of its own. */
export class Snapshot {
  #open = false;
  #stale = false;
  #readers = 0;
  #end = Promise.withResolvers<void>();

  /** `end` never throws. */
  constructor(private readonly transaction: { begin(): void; end(): void }) {}

  /** Runs reads on a snapshot that holds everything committed before the call. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    while (this.#stale) await this.#end.promise;
    if (!this.#open) {
      this.transaction.begin();
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

  /** Ends the snapshot as soon as nobody reads from it: at the end of the turn, and after each commit. */
  end(): void {
    if (!this.#open) return;
    this.#stale = true;
    if (this.#readers > 0) return;
    this.transaction.end();
    this.#open = false;
    this.#stale = false;
    this.#end.resolve();
    this.#end = Promise.withResolvers<void>();
  }
}
