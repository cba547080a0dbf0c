// The size of SQLite's write-ahead log.
import type { App } from "../app.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** Bytes that the log reaches only if a reader keeps it from being written back. */
const LARGEST = 64 * 1024 * 1024;

export async function checkWriteAheadLog(app: App): Promise<Finding> {
  const { wal_bytes } = await app.database.status();
  const size = `${Math.ceil(wal_bytes / 1024)} KiB`;
  if (wal_bytes <= LARGEST) return ok("write-ahead log", size);
  const advice =
    "Find the program that keeps the database open (fuser), and end it: the log shrinks with the next writes";
  return warning("write-ahead log", `${size}: it is not written back to the database`, advice);
}
