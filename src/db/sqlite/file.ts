// The database file: whether it is ours, its schema version, and whether it is damaged.
import { Database as Sqlite } from "bun:sqlite";
import { closeSync, fsyncSync, lstatSync, mkdirSync, openSync, readlinkSync, readSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { codeOf, DomainError, reasonOf } from "../../errors.ts";
import type { Dialect } from "../migrations/dialect.ts";
import { MIGRATION_TABLE } from "../migrations/migrate.ts";
import { tables } from "../tables.ts";
import { adviseOnRights } from "./directory-owner.ts";

/** "podk", in the file's header. */
export const APPLICATION_ID = 0x706f646b;

export const DIALECT: Dialect = {
  text: "text",
  tableOptions: "without rowid",
  prefersRowids: true,
  dropsConstraints: false,
  limitsKeys: false,
};

/** Bytes up to which refuseDamaged() checks a file. */
const QUICKLY_CHECKED = 32 * 1024 * 1024;

/**
 * Creates the file and its directory if they are missing, for their owner only. SQLite gives its other files the mode
 * of the database.
 * @throws DomainError "unavailable"
 */
export function prepareFile(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    closeSync(openSync(file, "a", 0o600));
  } catch (error) {
    const reason = describeDangling(file) ?? reasonOf(error);
    const refused = isMissing(file) ? dirname(file) : file;
    const advice = /^(EACCES|EPERM)$/.test(codeOf(error)) ? `. ${adviseOnRights(refused)}` : "";
    throw new DomainError("unavailable", `${file} can't be opened: ${reason}${advice}`, { cause: error });
  }
}

/** Waits until a file, or the names in a directory, are on disk. */
export function flush(path: string): void {
  const handle = openSync(path, "r");
  try {
    fsyncSync(handle);
  } catch (error) {
    // Some file systems sync no directories: SMB of older kernels, shared folders of VirtualBox.
    if (codeOf(error) !== "EINVAL") throw error;
  } finally {
    closeSync(handle);
  }
}

/** Device and inode, which distinguish a file from every other; null if it is missing. */
export function identityOf(file: string): string | null {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found ? `${found.dev}:${found.ino}` : null;
}

/**
 * Where a symbolic link leads; null if the file is none, or it can't be known. SQLite's other files are beside what it
 * leads to.
 */
export function linkTarget(file: string): string | null {
  try {
    const isLink = lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink();
    return isLink ? resolve(dirname(file), readlinkSync(file)) : null;
  } catch {
    return null;
  }
}

/** That a symbolic link leads nowhere, and what to do; null if it does not, the path is none, or it can't be known. */
export function describeDangling(path: string): string | null {
  const target = linkTarget(path);
  if (target === null || !isMissing(path)) return null;
  return `it is a symbolic link to ${target}, which does not exist. Mount its disk, or remove the link`;
}

/** In bytes; 0 if the file is missing. */
export const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

/** False if it can't be known: opening the file then says why. */
export function isMissing(file: string): boolean {
  try {
    return !statSync(file, { throwIfNoEntry: false });
  } catch {
    return false;
  }
}

/** The first column of the first row; null if there is none. */
export function firstValue(sqlite: Sqlite, sql: string): unknown {
  return Object.values(sqlite.query<Record<string, unknown>, []>(sql).get() ?? {})[0] ?? null;
}

/** False for a database of another program, and for an empty one. */
export const isOurs = (sqlite: Sqlite) => firstValue(sqlite, "pragma application_id") === APPLICATION_ID;

/** Names of the migrations that were applied to the file, oldest first. */
export function appliedMigrations(sqlite: Sqlite): string[] {
  return sqlite
    .query<{ name: string }, []>(`select name from ${MIGRATION_TABLE} order by name`)
    .all()
    .map((row) => row.name);
}

/** Reads everything. Returns the first damage that it finds, or null. */
export function damageIn(sqlite: Sqlite): string | null {
  const found = firstValue(sqlite, "pragma integrity_check(1)");
  if (found !== "ok") return String(found);
  if (firstValue(sqlite, "pragma foreign_key_check") !== null) return "it has rows without a user or subscription";
  return findOtherType(sqlite);
}

/** The first value of another type than its column is made for: SQLite takes any, and doesn't call that damage. */
function findOtherType(sqlite: Sqlite): string | null {
  for (const table of Object.keys(tables)) {
    const columns = sqlite.query<{ name: string; type: string }, []>(`pragma table_info(${table})`).all();
    const wrong = columns.flatMap(({ name, type }, index) => {
      const others = /int/i.test(type) ? "'text', 'blob'" : /^text$/i.test(type) ? "'blob'" : null;
      return others === null ? [] : `when typeof(${quoteName(name)}) in (${others}) then ${index}`;
    });
    if (wrong.length === 0) continue;
    const found = `case ${wrong.join(" ")} end`;
    const index = firstValue(sqlite, `select ${found} from ${table} where ${found} is not null limit 1`);
    if (index !== null) return `${table}.${columns[Number(index)]?.name} has a value of another type`;
  }
  return null;
}

/** Any name, as SQL has it. */
export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** As damageIn(), for a file that other processes may use. */
export function findDamage(file: string): string | null {
  const sqlite = new Sqlite(file, { readwrite: true });
  try {
    sqlite.run("pragma query_only = on");
    return damageIn(sqlite);
  } catch (error) {
    if (isDamage(error)) return reasonOf(error);
    throw error;
  } finally {
    sqlite.close();
  }
}

/** What a check found. */
class Damage extends Error {}

/** Reads all pages, but not all indexes, of a file up to QUICKLY_CHECKED. @throws as SQLite does for damage */
export function refuseDamaged(sqlite: Sqlite, file: string): void {
  if (sizeOf(file) > QUICKLY_CHECKED) return;
  const found = firstValue(sqlite, "pragma quick_check(1)");
  // It has filled the cache of pages.
  sqlite.run("pragma shrink_memory");
  if (found !== "ok") throw new Damage(String(found));
}

/** Whether SQLite found damage. It takes a page that can't be read for one too: see damaged(). */
export const isDamage = (error: unknown) => error instanceof Damage || /^SQLITE_(CORRUPT|NOTADB)/.test(codeOf(error));

/** What to do about a file that can't be read. */
export const ADVICE_ON_DISK =
  "Look for errors of its disk in dmesg. If it stays so, restore a backup with podkeep backup restore";

/**
 * The error for a file in which SQLite found damage: "config", or "unavailable" if it can't be read, since a disk that
 * fails may read it at another start. Looks again as findUnread() does.
 */
export function damaged(file: string, what: string, cause?: unknown): DomainError {
  const unread = findUnread(file);
  if (unread === null) return new DomainError("config", `${file} is damaged (${what}): restore a backup`, { cause });
  return new DomainError("unavailable", `${file} can't be read (${unread}). ${ADVICE_ON_DISK}`, { cause });
}

/**
 * Why a file in which SQLite found damage, or its log, can't be read, or could not be read before; null if it is damaged.
 * This process must have closed the file, whose locks end with that.
 */
export function findUnread(file: string): string | null {
  try {
    for (const path of [file, `${file}-wal`]) if (!isMissing(path)) readAll(path);
  } catch (error) {
    return reasonOf(error);
  }
  try {
    return findDamage(file) === null ? "a page was unreadable for a moment" : null;
  } catch {
    return null;
  }
}

function readAll(path: string): void {
  const handle = openSync(path, "r");
  try {
    const piece = Buffer.allocUnsafe(1024 * 1024);
    while (readSync(handle, piece) > 0);
  } finally {
    closeSync(handle);
  }
}
