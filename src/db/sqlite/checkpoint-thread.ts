// A thread of its own for what keeps a disk busy: moving the write-ahead log into the database file.
import { Database } from "bun:sqlite";
import { LONG_LOG, type Moved, type Task } from "./checkpoint.ts";

declare const self: Worker;

/** Milliseconds to wait for readers and writers. */
const PATIENCE = 1000;

self.onmessage = ({ data }: MessageEvent<Task>) => {
  let inVain = false;
  try {
    inVain = move(data);
  } catch {
    // The disk is full or failing: what is in the log stays there until the next time.
  }
  postMessage(inVain);
};

/** True where writers waited and the log is not empty all the same. */
function move({ file, wait }: Task): boolean {
  const sqlite = new Database(file, { readwrite: true });
  try {
    sqlite.run(`pragma busy_timeout = ${PATIENCE}`);
    const moved = sqlite.query<Moved, []>("pragma wal_checkpoint(passive)").get();
    // While others write without a pause, the log is never empty and only grows. Now there is little left to move, so
    // they can wait for that.
    if (!wait || !moved || moved.log <= LONG_LOG) return false;
    return sqlite.query<Moved, []>("pragma wal_checkpoint(restart)").get()?.busy === 1;
  } finally {
    sqlite.close();
  }
}
