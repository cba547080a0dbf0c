// Checkpoints: moving the write-ahead log into the database file. A thread does it, because it takes several fsyncs.
import type { Moved, Task } from "./checkpoint-thread.ts";
import type { SqliteConnection } from "./connection.ts";

/** Pages in the log that start a checkpoint: 12 MB. A page that changed a hundred times is written to the file once. */
export const LARGE_LOG = 12_000;
/** Pages in the log from which writers wait for it to become empty. */
const LONG_LOG = 2 * LARGE_LOG;
/**
 * Pages in the log from which a commit moves them itself, because the thread did not. If there is always a reader, the log
 * grows all the same: it is emptied only when the thread has made writers wait.
 */
export const LONGEST_LOG = 5 * LARGE_LOG;

/** Bytes to which the log is cut off after it was written back: a large log, and what is written during its checkpoint. */
export const KEPT_LOG = 16 * 1024 * 1024;

/** Commits from one look at the log's length to the next: it takes 20 µs. */
const LOOK_INTERVAL = 4;

/** Milliseconds until writers wait again, after they waited without success. */
const REST = 60_000;

/** Starts its thread when the log of the file is large for the first time. */
export class Checkpointer {
  #waitFrom = 0;
  #commits = 0;
  #worker: Worker | null = null;
  #running: Promise<void> | null = null;

  constructor(private readonly file: string) {}

  /** Starts a checkpoint if the log is large. Call it after each commit. Never throws. */
  check(writer: SqliteConnection): void {
    if (++this.#commits % LOOK_INTERVAL !== 0 || this.#running || !this.#isDue(writer)) return;
    // If no thread can be started, the log waits for the next commit.
    const done = () => {
      this.#running = null;
    };
    this.#running = this.#move().then(done, done);
  }

  #isDue(writer: SqliteConnection): boolean {
    const { log, checkpointed } = stateOf(writer);
    return log - checkpointed >= LARGE_LOG || (log >= LONGEST_LOG && performance.now() >= this.#waitFrom);
  }

  async #move(): Promise<void> {
    this.#worker ??= startThread();
    const worker = this.#worker;
    await new Promise<void>((resolve) => {
      // A reader never ends, such as Litestream, which empties the log itself.
      worker.onmessage = ({ data: inVain }: MessageEvent<boolean>) => {
        if (inVain) this.#waitFrom = performance.now() + REST;
        resolve();
      };
      // The next checkpoint starts a new thread.
      worker.onerror = () => {
        this.#worker = null;
        resolve();
      };
      const task: Task = { file: this.file, waitAbove: performance.now() < this.#waitFrom ? null : LONG_LOG };
      worker.postMessage(task);
    });
  }

  async close(): Promise<void> {
    await this.#running;
    this.#worker?.terminate();
  }
}

function startThread(): Worker {
  const worker = new Worker(new URL("./checkpoint-thread.ts", import.meta.url).href);
  worker.unref();
  return worker;
}

// If it can't be read, the disk is failing: the next commit reports that.
function stateOf(writer: SqliteConnection): Pick<Moved, "log" | "checkpointed"> {
  const nothing = { log: 0, checkpointed: 0 };
  try {
    const [state] = writer.run("pragma wal_checkpoint(noop)") as Moved[];
    return state ?? nothing;
  } catch {
    return nothing;
  }
}
