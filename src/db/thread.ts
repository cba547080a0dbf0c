// A thread of its own for what keeps a disk busy: moving the write-ahead log into the database file.
import { Database } from "bun:sqlite";
import { LONG_LOG, type Moved } from "./checkpoint.ts";

declare const self: Worker;

/** Milliseconds to wait for readers and writers. */
const PATIENCE = 1000;

self.onmessage = ({ data: file }: MessageEvent<string>) => {
  try {
    move(file);
  } catch {
    // The disk is full or failing: what is in the log stays there until the next time.
  }
  postMessage(null);
};

function move(file: string): void {
  const sqlite = new Database(file, { readwrite: true });
  try {
    sqlite.run(`pragma busy_timeout = ${PATIENCE}`);
    const moved = sqlite.query<Moved, []>("pragma wal_checkpoint(passive)").get();
    // While others write without a pause, the log is never empty and only grows. Now there is little left to move, so
    // they can wait for that.
    if (moved && moved.log > LONG_LOG) sqlite.run("pragma wal_checkpoint(restart)");
  } finally {
    sqlite.close();
  }
}
