// The choice of the engine.
import type { Location } from "../config/location.ts";
import { DomainError } from "../errors.ts";
import type { Metrics } from "../metrics.ts";
import type { Database } from "./database.ts";
import type { Migrating } from "./migrations/migrate.ts";
import { openSqlite } from "./sqlite/database.ts";
import type { DirectoryUse } from "./sqlite/directory-lock.ts";
import { sizeOf } from "./sqlite/file.ts";
import type { Migration } from "./sqlite/upgrade.ts";

interface DatabaseOptions {
  /** Milliseconds to wait for another process that writes to the same file. */
  busy_timeout: number;
  database_pool: number;
  /** Milliseconds. */
  database_timeout: number;
  migrate: Migrating;
  /** If false, a missing or empty file is an error. Default: true. */
  create?: boolean;
  metrics?: Metrics | undefined;
  use: DirectoryUse;
  /** Directory of the backup that is made before a file is migrated; null to make none. */
  backup_dir: string | null;
  /** Whether it is opened to be filled by a copy, which may have been interrupted before. */
  copying?: boolean;
  /** Called after a migration of a file that was not new. */
  migrated?: ((migration: Migration) => void) | undefined;
}

/**
 * Opens a database and migrates it.
 * @throws DomainError "config" if the database can't be used, "conflict" if another process excludes this one
 */
export async function openDatabase(location: Location, options: DatabaseOptions): Promise<Database> {
  const { database_pool: size, database_timeout: timeout } = options;
  if ("url" in location) {
    const { openPostgres } = await import("./postgres/database.ts");
    return openPostgres({ url: location.url, size, timeout, ...options });
  }
  const { file } = location;
  if (options.create === false && sizeOf(file) === 0) throw new DomainError("config", `There is no database ${file}`);
  return openSqlite({ file, ...options });
}
