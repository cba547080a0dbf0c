// A write-ahead log that is damaged: SQLite takes the damage for the log's end, and what follows is lost.
import { closeSync, copyFileSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { codeOf } from "../../errors.ts";
import { timeInName } from "./backup-files.ts";
import { flush, sizeOf } from "./file.ts";

const nameOf = (file: string) => `${basename(file)}-wal-damaged-`;

/** The copies of damaged logs, oldest first. */
export const listDamagedLogs = (file: string): string[] =>
  readdirSync(dirname(file))
    .filter((name) => name.startsWith(nameOf(file)))
    .sort()
    .map((name) => join(dirname(file), name));

/** Copies the log if it is damaged, because SQLite will overwrite it. @returns the copy; null if it is not */
export function keepDamagedLog(file: string): string | null {
  try {
    const found = findDamage(file);
    // Another process may have been writing what was read.
    if (found === null || found !== findDamage(file)) return null;
    const log = `${file}-wal`;
    const copy = join(dirname(file), nameOf(file) + timeInName(statSync(log).mtimeMs));
    copyFileSync(log, copy);
    for (const path of [copy, dirname(copy)]) flush(path);
    return copy;
  } catch (error) {
    // A command that ended as the only one has removed the log, at any moment of this.
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

/** Bytes of the log's header, and of the header of each page in it: https://sqlite.org/fileformat2.html#walformat */
const [LOG_HEADER, PAGE_HEADER] = [32, 24];

/**
 * Finds damage with a lost change behind it. A power cut leaves no such log: its header is on the disk before the first
 * page, and a transaction before the next one. So a transaction that is followed by another can't be the log's end.
 * @returns the page from which SQLite reads no further; null without such damage
 */
function findDamage(file: string): number | null {
  const isFile = statSync(`${file}-wal`, { throwIfNoEntry: false })?.isFile();
  if (!isFile || sizeOf(file) === 0) return null;
  const log = openSync(`${file}-wal`, "r");
  try {
    const header = new Uint32Array(LOG_HEADER / 4);
    if (readSync(log, header) < LOG_HEADER) return null;
    const isSound = isSum(sum([0, 0], header.subarray(0, 6)), header.subarray(6));
    let end = isSound ? null : 0;
    // A log that is used again has old pages, with other salts, behind the new ones.
    let [salts, checksum] = [header.slice(4, 6), header.slice(6)];
    let wasCommit = false;
    const size = (isSound && swap(header[2])) || pageSizeOf(file);
    const page = new Uint32Array((PAGE_HEADER + size) / 4);
    for (let number = 1; readSync(log, page) === page.byteLength; number++) {
      const isNext = page[2] === salts[0] && page[3] === salts[1] && isSum(sumOfPage(checksum, page), page.subarray(4));
      if (end !== null && wasCommit && isNext) return end;
      if (!isNext) end ??= number;
      wasCommit = isNext && page[1] !== 0;
      checksum = page.slice(4, 6);
      if (!isSound) salts = page.slice(2, 4);
    }
    return null;
  } finally {
    closeSync(log);
  }
}

type Sum = [number, number];

/** Continues a checksum that is stored in the log. */
const sumOfPage = (before: Uint32Array, page: Uint32Array): Sum =>
  sum(sum([swap(before[0]), swap(before[1])], page.subarray(0, 2)), page.subarray(PAGE_HEADER / 4));

function sum([first, second]: Sum, words: Uint32Array): Sum {
  let [one, two] = [first, second];
  for (let n = 0; n < words.length; n += 2) {
    one = (one + (words[n] ?? 0) + two) | 0;
    two = (two + (words[n + 1] ?? 0) + one) | 0;
  }
  return [one, two];
}

const isSum = ([one, two]: Sum, stored: Uint32Array) => one === swap(stored[0]) && two === swap(stored[1]);

/** The log has its numbers in big-endian order. */
const swap = (word = 0) => (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24);

/** Not while this process has the database open: closing the file ends its locks. */
function pageSizeOf(file: string): number {
  const start = Buffer.alloc(18);
  const handle = openSync(file, "r");
  try {
    readSync(handle, start);
  } finally {
    closeSync(handle);
  }
  // 65,536 does not fit, and is written as 1.
  const size = start.readUInt16BE(16);
  return size === 1 ? 65_536 : size;
}
