// When the write-ahead log is moved into the database file. A thread does it: it takes two fsyncs or more, and nobody
// would be answered meanwhile.
import type { SqliteConnection } from "./connection.ts";

/** Pages in the log from which they are moved, as SQLite has it by default. */
const LARGE_LOG = 1000;
/** Pages in the log from which writers wait until it is empty. */
export const LONG_LOG = 4 * LARGE_LOG;
/** Pages in the log from which a commit moves them itself: nothing else did. */
export const LONGEST_LOG = 16 * LARGE_LOG;

/** What SQLite answers to a checkpoint, in pages. */
export interface Moved {
  busy: number;
  log: number;
  checkpointed: number;
}

/** What the thread is asked: whether it may make writers wait until the log is empty. */
export interface Task {
  file: string;
  wait: boolean;
}

/** Milliseconds until writers are made to wait again, after they waited in vain. */
const REST = 60_000;

/** Moves the log of one file; its thread is started when the log is large for the first time. */
export class Checkpointer {
  #waitFrom = 0;
  #worker: Worker | null = null;
  #running: Promise<void> | null = null;

  constructor(private readonly file: string) {}

  /** Has the log moved where it is large; to be called after each commit. Never throws. */
  check(writer: SqliteConnection): void {
    if (this.#running || unmoved(writer) < LARGE_LOG) return;
    // Where there is no thread to be had, the log waits for the next commit.
    const done = () => {
      this.#running = null;
    };
    this.#running = this.#move().then(done, done);
  }

  async #move(): Promise<void> {
    this.#worker ??= startThread();
    const worker = this.#worker;
    await new Promise<void>((resolve) => {
      // Somebody reads without end, as Litestream does, which empties the log itself.
      worker.onmessage = ({ data: inVain }: MessageEvent<boolean>) => {
        if (inVain) this.#waitFrom = performance.now() + REST;
        resolve();
      };
      // The next one gets a new thread.
      worker.onerror = () => {
        this.#worker = null;
        resolve();
      };
      const task: Task = { file: this.file, wait: performance.now() >= this.#waitFrom };
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

// Where that can't be read, the disk is failing: the next commit meets it, and says so.
function unmoved(writer: SqliteConnection): number {
  try {
    const [state] = writer.run("pragma wal_checkpoint(noop)") as Moved[];
    return state ? state.log - state.checkpointed : 0;
  } catch {
    return 0;
  }
}
