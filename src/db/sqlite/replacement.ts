// Replacing the database by a copy, as a restore does. If it is interrupted, the old data is found again.
import { Database as Sqlite } from "bun:sqlite";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { DomainError, reasonOf } from "../../errors.ts";
import { flush } from "./file.ts";

/** Where a restore prepares the database that will replace this one. */
export const stagedFile = (file: string) => join(dirname(file), "restoring", "podkeep.db");

/** Has the name of the directory of the old data, while a restore replaces it. */
const nameOfReplaced = (file: string) => join(dirname(stagedFile(file)), "replaced");

/** Where a restore reads the database that it replaces. */
export const replacedCopy = (file: string) => join(dirname(file), "replacing", "podkeep.db");

/** Removes what a killed restore left. Only while no restore runs, and the database is there. */
export function removeLeftovers(file: string): void {
  undoReplacement(file);
  for (const copy of [stagedFile(file), replacedCopy(file)]) {
    rmSync(dirname(copy), { recursive: true, force: true });
  }
}

/** Bytes copied at a time. */
const PIECE = 1024 * 1024;

/**
 * Copies a backup to `file`, alone in its directory.
 * @param copy descriptor of the backup, read from its current position
 * @throws DomainError "unavailable" if it can't be written
 */
export function unpackCopy(copy: number, file: string): void {
  try {
    rmSync(dirname(file), { recursive: true, force: true });
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const to = openSync(file, "wx", 0o600);
    try {
      const piece = Buffer.allocUnsafe(PIECE);
      for (let bytes = readSync(copy, piece); bytes > 0; bytes = readSync(copy, piece)) {
        writeFileSync(to, piece.subarray(0, bytes));
      }
    } finally {
      closeSync(to);
    }
  } catch (error) {
    throw new DomainError("unavailable", `${file} can't be written: ${reasonOf(error)}`, { cause: error });
  }
}

/**
 * Writes the log of a closed database back, which closing leaves out silently if the disk is full.
 * @throws DomainError "unavailable"
 */
export function emptyLogOf(file: string): void {
  let sqlite: Sqlite | undefined;
  try {
    sqlite = new Sqlite(file, { readwrite: true });
    sqlite.run("pragma wal_checkpoint(truncate)");
  } catch (error) {
    throw new DomainError("unavailable", `${file} can't be written: ${reasonOf(error)}`, { cause: error });
  } finally {
    sqlite?.close();
  }
}

/** Replaces `file` by the closed database `staged`. The old files go to the directory `aside`. */
export function replaceDatabase(staged: string, file: string, aside: string): void {
  flush(staged);
  const directory = dirname(file);
  const old = readdirSync(directory).filter((name) => [basename(file), `${basename(file)}-wal`].includes(name));
  if (old.length > 0) {
    const note = nameOfReplaced(file);
    writeFileSync(note, basename(aside));
    flush(note);
    mkdirSync(aside, { mode: 0o700 });
  }
  // The database before its log: it must not be found without it.
  for (const name of old.sort()) renameSync(join(directory, name), join(aside, name));
  rmSync(`${file}-shm`, { force: true });
  renameSync(staged, file);
  flush(directory);
  rmSync(dirname(staged), { recursive: true, force: true });
}

/** Puts the old data back, if replaceDatabase() was interrupted before the new data was there. */
export function undoReplacement(file: string): void {
  const note = nameOfReplaced(file);
  // Empty if the restore was interrupted while it wrote it.
  const name = existsSync(note) ? readFileSync(note, "utf8") : "";
  const directory = dirname(file);
  const aside = join(directory, name);
  if (name === "" || !existsSync(aside)) return;
  const moved = readdirSync(aside).sort().reverse();
  if (existsSync(file) && moved.length > 0) return;
  for (const part of moved) renameSync(join(aside, part), join(directory, part));
  rmdirSync(aside);
  flush(directory);
}
