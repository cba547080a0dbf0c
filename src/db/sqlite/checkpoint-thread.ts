// The thread that moves the write-ahead log into the database file.
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
    // The disk is full or failing: the log stays until the next time.
  }
  postMessage(inVain);
};

/** Returns true if writers were made to wait and the log is still not empty. */
function move({ file, wait }: Task): boolean {
  const sqlite = new Database(file, { readwrite: true });
  try {
    sqlite.run(`pragma busy_timeout = ${PATIENCE}`);
    const moved = sqlite.query<Moved, []>("pragma wal_checkpoint(passive)").get();
    // Without a pause between writes the log only grows. Little is left to move now, so writers can wait.
    if (!wait || !moved || moved.log <= LONG_LOG) return false;
    return sqlite.query<Moved, []>("pragma wal_checkpoint(restart)").get()?.busy === 1;
  } finally {
    sqlite.close();
  }
}
