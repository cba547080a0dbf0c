// The size of the file's pages. A change of one row writes each page that it touches whole, to the log and to the file.
import type { Database as Sqlite } from "bun:sqlite";
import { rmSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { firstValue, sizeOf } from "./file.ts";

/** Bytes: a quarter of SQLite's default. Rows that are often longer than 200 bytes are in tables with a rowid. */
const PAGE_SIZE = 1024;

/** Free pages that are worth no copy of the file. */
const MOST_FREE = 1024;

/** Has a file that is still empty get small pages. */
export const choosePageSize = (sqlite: Sqlite) => sqlite.run(`pragma page_size = ${PAGE_SIZE}`);

/** Whether the pages are not small, or a migration left many free ones. */
function hasWaste(sqlite: Sqlite): boolean {
  if (firstValue(sqlite, "pragma page_size") !== PAGE_SIZE) return true;
  const free = Number(firstValue(sqlite, "pragma freelist_count"));
  return free > MOST_FREE && free * 4 > Number(firstValue(sqlite, "pragma page_count"));
}

/**
 * Gives an older file small pages, and one of which much is free its size, unless another process has it open or the
 * disk has no room: then it stays as it is.
 * If the process is killed, SQLite undoes it. The connection is left without write-ahead log.
 */
export function shrinkPages(sqlite: Sqlite, file: string): void {
  if (!hasWaste(sqlite) || !hasRoom(file)) return;
  try {
    if (firstValue(sqlite, "pragma journal_mode = delete") !== "delete") return;
    // The copy that VACUUM makes belongs on the disk that has room, not into memory.
    sqlite.run("pragma temp_store = file");
    sqlite.run(`pragma temp_store_directory = '${dirname(file).replaceAll("'", "''")}'`);
    choosePageSize(sqlite);
    sqlite.run("vacuum");
  } catch {
    // The next migration tries again.
  } finally {
    sqlite.run("pragma temp_store_directory = ''");
    sqlite.run("pragma temp_store = memory");
  }
}

/** Removes the journal without a header that a killed shrinkPages() may leave. Only after a read, as the only server. */
export function removeJournal(sqlite: Sqlite, file: string): void {
  // With a write-ahead log there is no other journal: one that was needed was played back before.
  if (firstValue(sqlite, "pragma journal_mode") === "wal") rmSync(`${file}-journal`, { force: true });
}

/** For VACUUM's copy and the pages as they were before. */
function hasRoom(file: string): boolean {
  const { bavail, bsize } = statfsSync(dirname(file));
  return bavail * bsize > 3 * (sizeOf(file) + sizeOf(`${file}-wal`));
}
