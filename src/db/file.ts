// The database file in the file system.
import { closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DomainError, messageOf } from "../errors.ts";

/**
 * Makes the file and its folder where they are missing, for their owner alone. SQLite gives its companion files the
 * mode of the database.
 * @throws DomainError "config"
 */
export function prepareFile(file: string): void {
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
