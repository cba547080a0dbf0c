// Who uses a data folder: SQLite's own locks on an empty file, which end with the process however it ends.
import { Database as Sqlite } from "bun:sqlite";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { DomainError, messageOf } from "../../errors.ts";

/** Many commands go together with each other and with one server; a restore goes with nobody. */
const BEGIN = { command: "begin", server: "begin immediate", restore: "begin exclusive" } as const;

const REFUSED = {
  command: (folder: string) => `A backup is being restored into ${folder}: wait until it is done`,
  server: (folder: string) => `Another podkeep server, or a restore, uses ${folder}: stop it first`,
  restore: (folder: string) => `A podkeep server or another command uses ${folder}: stop it first`,
};

export type FolderUse = keyof typeof BEGIN;

/**
 * Takes the folder, which is made where it is missing, and gives the function that gives it back.
 * @throws DomainError "conflict" where another use stands against it, "config" where the folder can't be used
 */
export function lockFolder(folder: string, use: FolderUse): () => void {
  let lock: Sqlite | undefined;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const file = join(folder, "podkeep.lock");
    closeSync(openSync(file, "a", 0o600));
    lock = new Sqlite(file, { readwrite: true });
    // A journal in a file would be left behind by a process that is killed.
    lock.run("pragma journal_mode = memory");
    lock.run(BEGIN[use]);
    // A plain BEGIN locks nothing before the first read.
    lock.query("select count(*) from sqlite_schema").get();
  } catch (error) {
    lock?.close();
    if (error instanceof Error && "code" in error && error.code === "SQLITE_BUSY") {
      throw new DomainError("conflict", REFUSED[use](folder), { cause: error });
    }
    throw new DomainError("config", `The data folder ${folder} can't be used: ${messageOf(error)}`, { cause: error });
  }
  return () => lock.close();
}
