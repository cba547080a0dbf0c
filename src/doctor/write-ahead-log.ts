// SQLite's write-ahead log: its size, and whether it was damaged.
import type { App } from "../app.ts";
import { keepDamagedLog, listDamagedLogs } from "../db/sqlite/damaged-log.ts";
import { describeSize } from "../sizes.ts";
import { type Finding, ok, warning } from "./finding.ts";

const ABOUT = "write-ahead log";
/** Bytes that the log reaches only if a reader keeps it from being written back. */
const LARGEST = 64 * 1024 * 1024;

export async function checkWriteAheadLog(app: App): Promise<Finding> {
  const { wal_bytes } = await app.database.status();
  const size = describeSize(wal_bytes);
  if (wal_bytes <= LARGEST) return ok(ABOUT, size);
  const advice =
    "Find the program that keeps the database open (fuser), and end it: the log shrinks with the next writes";
  return warning(ABOUT, `${size}: it is not written back to the database`, advice);
}

/** Damaged logs, each until its copy is deleted. Call it before the database is opened. */
export function checkDamagedLogs(file: string): Finding[] {
  if (listDamagedLogs(file).length === 0) keepDamagedLog(file);
  const advice =
    "Check the disk. Make a backup and restore it, so that apps that are ahead get everything again; then delete the copy";
  return listDamagedLogs(file).map((copy) =>
    warning(ABOUT, `it was damaged, and changes are lost: ${copy} is a copy of it`, advice),
  );
}
