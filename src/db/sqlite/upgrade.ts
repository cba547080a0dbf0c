// Migration of a database file: never under a running server, and never without a backup.
import type { SQLQueryBindings, Database as Sqlite } from "bun:sqlite";
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { Kysely, SqliteDialect, type SqliteStatement } from "kysely";
import { DomainError, isDiskFull, reasonOf } from "../../errors.ts";
import type { DatabaseUse } from "../database.ts";
import {
  type Migrating,
  type MigrationReport,
  migrate,
  pendingMigrations,
  SCHEMA_VERSION,
} from "../migrations/migrate.ts";
import type { Schema } from "../schema.ts";
import { copyDatabase, describeRefusal } from "./backup.ts";
import { lockDirectory } from "./directory-lock.ts";
import { requireResponse } from "./directory-response.ts";
import { APPLICATION_ID, appliedMigrations, DIALECT, firstValue, isOurs, refuseDamaged, sizeOf } from "./file.ts";
import { shrinkPages } from "./page-size.ts";
import { retryWhileBusy } from "./retry-busy.ts";

export interface UpgradeOptions extends MigrationReport {
  file: string;
  /** Milliseconds to wait for another process that writes. */
  busy_timeout: number;
  migrate: Migrating;
  use: DatabaseUse;
  /** Directory of the backup that is made before a migration; null to make none. */
  backup_dir: string | null;
  /** Whether it is opened to be filled by a copy, which may have been interrupted before. */
  copying?: boolean;
}

/**
 * Whether the file is new or lacks migrations. Only reads, so that a file that is not ours stays as it was.
 * @throws DomainError "config" if it is not ours, from a newer program, or holds a part of a copy
 */
export function isPending(sqlite: Sqlite, { file, migrate: migrating, copying }: UpgradeOptions): boolean {
  const lacks = (applied: string[]) => pendingMigrations(applied, migrating, copying).length > 0;
  if (sizeOf(file) === 0) return lacks([]);
  if (isOurs(sqlite)) return lacks(appliedMigrations(sqlite));
  if (firstValue(sqlite, "select count(*) from sqlite_schema") === 0) return lacks([]);
  throw new DomainError("config", `${file} is not a podkeep database`);
}

/**
 * Brings the file to this program's schema, after a backup.
 * @throws DomainError "config" if it is damaged, the migration fails, or a server has no room for it, "unavailable" if no
 * backup can be made; then it stays as it was
 */
export async function upgradeFile(sqlite: Sqlite, options: UpgradeOptions): Promise<void> {
  const { file, busy_timeout, use, backup_dir } = options;
  const unlock = use === "command" ? await lockForUpgrade(dirname(file), busy_timeout) : null;
  try {
    // Another process may have migrated it since.
    if (!(await retryWhileBusy(busy_timeout, () => isPending(sqlite, options)))) return;
    const from = isOurs(sqlite) ? (appliedMigrations(sqlite).at(-1) ?? "") : undefined;
    let backup: string | null = null;
    if (from !== undefined) {
      options.migrates?.({ from, to: SCHEMA_VERSION });
      refuseDamaged(sqlite, file);
      if (backup_dir !== null) backup = await backUpBefore(file, backup_dir);
    }
    // A table that is rebuilt must not take along what refers to it.
    sqlite.run("pragma foreign_keys = off");
    await retryWhileBusy(busy_timeout, () => sqlite.run("begin immediate"));
    await migrate(kyselyOn(sqlite), DIALECT);
    sqlite.run(`pragma application_id = ${APPLICATION_ID}`);
    sqlite.run("commit");
    shrinkPages(sqlite, file);
    await retryWhileBusy(busy_timeout, () => sqlite.run("pragma journal_mode = wal"));
    if (from !== undefined) options.migrated?.({ from, to: SCHEMA_VERSION, backup });
  } catch (error) {
    if (sqlite.inTransaction) sqlite.run("rollback");
    throw backup_dir !== null && isDiskFull(error) ? noRoom(file, use, error) : error;
  } finally {
    sqlite.run("pragma foreign_keys = on");
    unlock?.();
  }
}

function kyselyOn(sqlite: Sqlite): Kysely<Schema> {
  const prepare = (text: string): SqliteStatement => {
    // Unlike prepare(), query() keeps its statements and finalizes them when the connection closes.
    const statement = sqlite.query<unknown, SQLQueryBindings[]>(text);
    const bind = (values: readonly unknown[]) => values as SQLQueryBindings[];
    return {
      reader: statement.columnNames.length > 0,
      all: (values) => statement.all(...bind(values)),
      run: (values) => statement.run(...bind(values)),
      iterate: (values) => statement.iterate(...bind(values)),
    };
  };
  return new Kysely({ dialect: new SqliteDialect({ database: { prepare, close: () => {} } }) });
}

// Commands never change the schema under a running server. Two commands on a new directory take turns.
async function lockForUpgrade(directory: string, timeout: number): Promise<() => void> {
  for (const end = performance.now() + timeout; ; await Bun.sleep(20)) {
    try {
      return lockDirectory(directory, "server", 0);
    } catch (error) {
      if (performance.now() < end) continue;
      const server = "A server runs that migrates the database now, or that is of an older version";
      throw new DomainError("conflict", `${server}: wait, or stop it first`, { cause: error });
    }
  }
}

// Replaces the backup that a failed migration left, or a part of it.
async function backUpBefore(file: string, backup_dir: string): Promise<string> {
  const to = join(backup_dir, `podkeep-before-${SCHEMA_VERSION}.db`);
  try {
    await requireResponse(backup_dir);
    rmSync(to, { force: true });
    copyDatabase(file, to, `${to}.partial`);
    return to;
  } catch (error) {
    const reason = error instanceof DomainError ? error.message : describeRefusal(to, error);
    throw new DomainError("unavailable", `No migration without a backup: ${reason}`, { cause: error });
  }
}

/** After that of a server, systemd doesn't try again: each time, the backup would be written before the disk is full. */
function noRoom(file: string, use: DatabaseUse, error: unknown): DomainError {
  const what = error instanceof DomainError ? error.message : `${file} can't be migrated: ${reasonOf(error)}`;
  const [code, again] = use === "server" ? (["config", "start"] as const) : (["unavailable", "try"] as const);
  return new DomainError(code, `${what}. Free some space, and ${again} again`, { cause: error });
}
