// Bringing a file of an older podkeep up to date: never under a running server, and never without a backup.
import type { Database as Sqlite } from "bun:sqlite";
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { Kysely } from "kysely";
import { BunSqliteDialect } from "kysely-bun-sqlite";
import { DomainError, messageOf } from "../../errors.ts";
import { type Migrating, migrate, pendingMigrations, SCHEMA_VERSION } from "../migrations/migrate.ts";
import type { Schema } from "../schema.ts";
import { copyDatabase } from "./backup.ts";
import { type DirectoryUse, lockDirectory } from "./directory-lock.ts";
import { APPLICATION_ID, appliedMigrations, DIALECT, damaged, firstValue, isOurs, sizeOf } from "./file.ts";
import { retryWhileBusy } from "./retry-busy.ts";

/** Bytes up to which a server checks the whole file when it starts. */
const CHECKED_AT_START = 32 * 1024 * 1024;

export interface UpgradeOptions {
  file: string;
  /** Milliseconds to wait for another process that writes. */
  busy_timeout: number;
  migrate: Migrating;
  use: DirectoryUse;
  /** Folder for the backup that is made before a migration; null to make none. */
  backup_dir: string | null;
}

/**
 * Tells whether the file lacks migrations, or is new; reads alone, so that a file that is not ours stays as it was.
 * @throws DomainError "config" where it is not ours, damaged, or of a newer program
 */
export function isPending(sqlite: Sqlite, { file, use, migrate: migrating }: UpgradeOptions): boolean {
  const lacks = (applied: string[]) => pendingMigrations(applied, DIALECT, migrating).length > 0;
  if (sizeOf(file) === 0) return lacks([]);
  if (!isOurs(sqlite)) {
    if (firstValue(sqlite, "select count(*) from sqlite_schema") === 0) return lacks([]);
    throw new DomainError("config", `${file} is not a database of podkeep`);
  }
  // Commands and completion start quickly; `podkeep doctor` checks the whole file.
  if (use !== "command" && sizeOf(file) <= CHECKED_AT_START) {
    const found = firstValue(sqlite, "pragma quick_check(1)");
    if (found !== "ok") throw damaged(file, String(found));
  }
  return lacks(appliedMigrations(sqlite));
}

/** Brings the file up to this program's schema, with a backup of what was there. @throws DomainError "config" */
export async function upgradeFile(sqlite: Sqlite, options: UpgradeOptions): Promise<void> {
  const { file, busy_timeout, use, backup_dir } = options;
  const unlock = use === "command" ? await waitForFolder(dirname(file), busy_timeout) : null;
  try {
    // Another process may have done it meanwhile.
    if (!isPending(sqlite, options)) return;
    if (isOurs(sqlite) && backup_dir !== null) backUpBefore(file, backup_dir);
    await retryWhileBusy(busy_timeout, () => sqlite.run("begin immediate"));
    await migrate(kyselyOn(sqlite), DIALECT, true);
    sqlite.run(`pragma application_id = ${APPLICATION_ID}`);
    sqlite.run("commit");
  } catch (error) {
    if (sqlite.inTransaction) sqlite.run("rollback");
    throw error;
  } finally {
    unlock?.();
  }
}

// Unlike prepare(), query() keeps its statements and finalizes them when the connection closes.
function kyselyOn(sqlite: Sqlite): Kysely<Schema> {
  const database = { prepare: (sql: string) => sqlite.query(sql) } as Sqlite;
  return new Kysely<Schema>({ dialect: new BunSqliteDialect({ database }) });
}

// No command changes the schema under a running server; two commands at a new folder take turns.
async function waitForFolder(folder: string, timeout: number): Promise<() => void> {
  for (const end = performance.now() + timeout; ; await Bun.sleep(20)) {
    try {
      return lockDirectory(folder, "server");
    } catch (error) {
      if (performance.now() < end) continue;
      throw new DomainError("config", "A server of an older version is running: stop it first", {
        cause: error,
      });
    }
  }
}

// One that was left by a migration that failed is replaced.
function backUpBefore(file: string, backup_dir: string): void {
  const to = join(backup_dir, `podkeep-before-${SCHEMA_VERSION}.db`);
  try {
    rmSync(to, { force: true });
    copyDatabase(file, to);
  } catch (error) {
    throw new DomainError("config", `No migration without a backup: ${messageOf(error)}`, { cause: error });
  }
}
