// Chooses the engine: the one place that knows there are two.
import type { Probe } from "../probe.ts";
import type { Database } from "./database.ts";
import type { FolderUse } from "./lock.ts";
import type { Migrating } from "./migrations.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";

export interface DatabaseOptions {
  /** Milliseconds to wait for another process that writes to the same file. */
  busy_timeout: number;
  database_pool: number;
  /** Milliseconds. */
  database_timeout: number;
  migrate: Migrating;
  probe?: Probe | undefined;
  /** How the data folder is used. */
  use: FolderUse;
  /** Folder for the backup that is made before a migration of a file. */
  backup_dir: string;
}

/**
 * Opens a database and migrates it.
 * @param location a postgres:// address, or the path of a file
 * @throws DomainError "config" where the database can't be used
 */
export function openDatabase(location: string, options: DatabaseOptions): Promise<Database> {
  const { database_pool, database_timeout, migrate, probe } = options;
  return /^postgres(ql)?:/.test(location)
    ? openPostgres({ url: location, size: database_pool, timeout: database_timeout, migrate, probe })
    : openSqlite({ file: location, ...options });
}
