// The choice of the engine.
import type { Location } from "../config/location.ts";
import { DomainError } from "../errors.ts";
import type { Database } from "./database.ts";
import { openSqlite, type SqliteOptions } from "./sqlite/database.ts";
import { sizeOf } from "./sqlite/file.ts";

interface DatabaseOptions extends Omit<SqliteOptions, "file"> {
  database_pool: number;
  /** Milliseconds. */
  database_timeout: number;
  /** If false, a missing or empty file is an error. Default: true. */
  create?: boolean;
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
