// Data directories of programs that tests start.
import { constants, copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";

/** A database file of `npm test` with the present schema and no users: a first start takes longer than most tests. */
export const PREPARED_FILE = process.env["PODKEEP_TEST_FILE"];

/** Creates a data directory in which a program has run before, or an empty one if no database is prepared. */
export function createDataDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if (PREPARED_FILE) copyFileSync(PREPARED_FILE, join(path, "podkeep.db"), constants.COPYFILE_EXCL);
}
