// Locks of a data directory: SQLite's locks on an empty file, which the system releases when a process ends.
import { Database as Sqlite } from "bun:sqlite";
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { join, resolve } from "node:path";
import { quote } from "../../config/shell.ts";
import { codeOf, DomainError, isRefusal } from "../../errors.ts";
import { adviseOnDenial, becomeOwnerOf, isOwn } from "./directory-owner.ts";
import { describeDangling } from "./file.ts";
import { reasonIn, suspect } from "./file-system.ts";

/** Many commands and one server share a directory; a restore needs it alone. */
const BEGIN = { command: "begin", server: "begin immediate", restore: "begin exclusive" } as const;

const REFUSED = {
  command: (directory: string) => `A backup is being restored into ${directory}: wait until it is done`,
  server: (directory: string) => `Another podkeep server, or a restore, uses ${directory}: stop it first`,
  restore: (directory: string) => `A podkeep server or another command uses ${directory}: stop it first`,
};

/** What a process does with a data directory. */
type DirectoryUse = keyof typeof BEGIN;

/** Milliseconds that a server waits: a command that asks whether one runs has the same lock for a moment. */
const PATIENCE = 500;

/** The file that is locked: private to its owner. */
export const lockIn = (directory: string) => join(directory, "podkeep.lock");

/** How many locks this process has on each file: closing a descriptor of the file would end them all, as POSIX says. */
const held = new Map<string, number>();

/**
 * Locks the directory, which is created if it is missing. Until it is unlocked, root works as its owner, as a server to
 * its end. Returns the function that unlocks it.
 * @param patience milliseconds to wait for another process
 * @throws DomainError "conflict" if another process uses it in a way that excludes this one, "unavailable" if the
 * directory can't be used
 */
export function lockDirectory(
  directory: string,
  use: DirectoryUse,
  patience = use === "server" ? PATIENCE : 0,
): () => void {
  const becomeRoot = becomeOwnerOf(directory);
  const file = resolve(lockIn(directory));
  let lock: Sqlite | undefined;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (!held.has(file)) closeSync(openSync(file, "a", 0o600));
    lock = new Sqlite(file, { readwrite: true });
    // A journal file would be left behind by a process that is killed.
    lock.run("pragma journal_mode = memory");
    lock.run(`pragma busy_timeout = ${patience}`);
    lock.run(BEGIN[use]);
    // A plain BEGIN locks nothing before the first read.
    lock.query("select count(*) from sqlite_schema").get();
  } catch (error) {
    lock?.close();
    const advice = adviseOn(error, directory, use);
    becomeRoot();
    if (codeOf(error) === "SQLITE_BUSY") {
      throw new DomainError("conflict", REFUSED[use](directory) + suspect(directory, error), { cause: error });
    }
    const reason = describeDangling(directory) ?? reasonIn(directory, error) + advice;
    throw new DomainError("unavailable", `The data directory ${directory} can't be used: ${reason}`, { cause: error });
  }
  held.set(file, (held.get(file) ?? 0) + 1);
  return () => {
    lock.close();
    const left = (held.get(file) ?? 1) - 1;
    if (left > 0) held.set(file, left);
    else held.delete(file);
    // A server ends now. It would wait for all threads, and one may wait for a network disk that is gone.
    if (use !== "server") becomeRoot();
  };
}

function adviseOn(error: unknown, directory: string, use: DirectoryUse): string {
  const path = existsSync(lockIn(directory)) ? lockIn(directory) : directory;
  if (codeOf(error) === "EEXIST") return ". Move it away, or name another directory with --data-dir";
  if (codeOf(error) === "EROFS") return ". If the disk fails, podkeep help backups says how to save the data";
  const isForeign = codeOf(error) === "EACCES" && !isOwn(path);
  if (isForeign && isOwn(directory)) {
    const account = process.geteuid?.();
    return `. All in it must belong to the account ${account} too: sudo chown -R ${account} ${quote(directory)}`;
  }
  // The number of the account, because a container may have another name for it.
  if (isForeign && use === "server")
    return `. It must belong to the account ${process.geteuid?.()}, as which the server runs`;
  return adviseOnDenial(error, path);
}

/** Whether a server uses the directory, or a restore. @throws DomainError "unavailable" if the directory can't be used */
export function isServed(directory: string): boolean {
  try {
    lockDirectory(directory, "server", 0)();
    return false;
  } catch (error) {
    if (isRefusal(error, "conflict")) return true;
    throw error;
  }
}
