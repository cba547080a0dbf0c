// The database file: where it lies, whether it is ours, and of which schema.
import { Database as Sqlite } from "bun:sqlite";
import { closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { DomainError, messageOf } from "../../errors.ts";
import type { Dialect } from "../migrations/dialect.ts";
import { MIGRATION_TABLE } from "../migrations/migrate.ts";

/** Where a restored database is made ready, beside the one whose place it will take. */
export const stagedFile = (file: string) => join(dirname(file), "restoring", "podkeep.db");

/**
 * Makes the file and its folder where they are missing, for their owner alone. SQLite gives its companion files the
 * mode of the database.
 * @throws DomainError "config"
 */
export function prepareFile(file: string): void {
  // An empty database in its place would look as if everything were lost.
  if (!existsSync(file) && existsSync(dirname(stagedFile(file)))) {
    throw new DomainError("config", "A restore was interrupted: run `podkeep backup restore` again");
  }
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    closeSync(openSync(file, "a", 0o600));
  } catch (error) {
    throw new DomainError("config", `The data folder can't be used: ${messageOf(error)}`, { cause: error });
  }
}

/** What tells a file from every other one; null where there is none. */
export function identityOf(file: string): string | null {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found ? `${found.dev}:${found.ino}` : null;
}

/** In bytes; 0 where there is no such file. */
export const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

/** "podk": tells our files from those of other programs. */
export const APPLICATION_ID = 0x706f646b;

export const DIALECT: Dialect = { text: "text", tableOptions: "without rowid", dropsConstraints: false };

/** The first column of the first row; null where there is none. */
export function firstValue(sqlite: Sqlite, sql: string): unknown {
  return Object.values(sqlite.query<Record<string, unknown>, []>(sql).get() ?? {})[0] ?? null;
}

/** False for a database of another program, and for one that nothing was written to yet. */
export const isOurs = (sqlite: Sqlite) => firstValue(sqlite, "pragma application_id") === APPLICATION_ID;

/** Names of the migrations that the file holds. */
export function appliedMigrations(sqlite: Sqlite): string[] {
  return sqlite
    .query<{ name: string }, []>(`select name from ${MIGRATION_TABLE} order by name`)
    .all()
    .map((row) => row.name);
}

/** Reads everything and tells what is damaged; null where nothing is. */
export function damageIn(sqlite: Sqlite): string | null {
  const found = firstValue(sqlite, "pragma integrity_check(1)");
  if (found !== "ok") return String(found);
  return firstValue(sqlite, "pragma foreign_key_check") === null ? null : "there are rows that belong to nobody";
}

/** Tells what is damaged in a file that others may be using; null where nothing is. */
export function findDamage(file: string): string | null {
  const sqlite = new Sqlite(file, { readwrite: true });
  try {
    sqlite.run("pragma query_only = on");
    return damageIn(sqlite);
  } finally {
    sqlite.close();
  }
}

/** The error for a database that can't be read whole. */
export const damaged = (file: string, what: string, cause?: unknown) =>
  new DomainError("config", `${file} is damaged (${what}): restore a backup`, { cause });
