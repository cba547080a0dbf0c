// The thread that moves the write-ahead log into the database file.
import { Database } from "bun:sqlite";

/** A message to this thread; it posts back whether writers were made to wait and the log is still not empty. */
export interface Task {
  file: string;
  /** Pages in the log above which writers are made to wait for it to become empty; null for never. */
  waitAbove: number | null;
}

/** Row of `pragma wal_checkpoint`, in pages. */
export interface Moved {
  busy: number;
  log: number;
  checkpointed: number;
}

declare const self: Worker;

/** Milliseconds to wait for readers and writers. */
const PATIENCE = 1000;

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
  try {
    sqlite.run(`pragma busy_timeout = ${PATIENCE}`);
    const moved = sqlite.query<Moved, []>("pragma wal_checkpoint(passive)").get();
    // Without a pause between writes the log only grows. Little is left to move now, so writers can wait.
    if (waitAbove === null || !moved || moved.log <= waitAbove) return false;
    return sqlite.query<Moved, []>("pragma wal_checkpoint(restart)").get()?.busy === 1;
  } finally {
    sqlite.close();
  }
}
