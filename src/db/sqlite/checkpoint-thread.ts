// The thread that moves the write-ahead log into the database file.
import { Database } from "bun:sqlite";

/** A message to this thread; it posts back whether writers were made to wait and the log is still not empty. */
export interface Task {
  file: string;
  /** Pages in the log above which writers are made to wait for it to become empty; null for never. */
  waitAbove: number | null;
}

/** Row of `pragma wal_checkpoint`, in pages: -1 while another connection moves them, as a commit does if the log is long. */
export interface Moved {
  busy: number;
  log: number;
  checkpointed: number;
}

declare const self: Worker;

/**
 * Milliseconds for which writers wait for readers to end, at each attempt. If there is always one, all of the log is free only
 * after some time without a write: the last attempt takes that.
 */
const PATIENCE = [...Array<number>(10).fill(20), 1000];
/** Milliseconds between two attempts: a whole list is read in that time. */
const PAUSE = 100;

self.onmessage = ({ data }: MessageEvent<Task>) => {
  let inVain = false;
  try {
    inVain = move(data);
  } catch {
    // The disk is full or failing: the log stays until the next time.
  }
  postMessage(inVain);
};

function move({ file, waitAbove }: Task): boolean {
  const sqlite = new Database(file, { readwrite: true });
  const checkpoint = (mode: "passive" | "restart") => sqlite.query<Moved, []>(`pragma wal_checkpoint(${mode})`).get();
  try {
    for (const patience of PATIENCE) {
      sqlite.run(`pragma busy_timeout = ${patience}`);
      const moved = checkpoint("passive");
      // Without a pause between writes the log only grows. Little is left to move now, so writers can wait.
      if (waitAbove === null || !moved || (moved.log !== -1 && moved.log <= waitAbove)) return false;
      if (checkpoint("restart")?.busy !== 1) return false;
      Bun.sleepSync(PAUSE);
    }
    return true;
  } finally {
    sqlite.close();
  }
}
