// Backups of the database file: making, checking and pruning.
import { readdirSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/settings.ts";
import { type Contents, checkCopy, copyDatabase } from "../db/sqlite/backup.ts";
import { lockDirectory } from "../db/sqlite/directory-lock.ts";
import { isMissing } from "../db/sqlite/file.ts";
import { DomainError, reasonOf } from "../errors.ts";

/** Backup names, which sort by age. */
const NAME = /^podkeep-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z\.db$/;
const DAY = 24 * 60 * 60 * 1000;

export interface Backup extends Contents {
  file: string;
  bytes: number;
}

/** A time as part of a file name; the names sort by it. */
export const timeInName = (time: number) => new Date(time).toISOString().replace(/[:.]/g, "-");

const nameAt = (time: number) => `podkeep-${timeInName(time)}.db`;
const timeOf = (name: string) =>
  Date.parse(name.slice(8, -3).replace(/T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z/, "T$1:$2:$3.$4Z"));

function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw new DomainError("unavailable", `${directory} can't be read: ${reasonOf(error)}`, { cause: error });
  }
}

const listBackups = (directory: string) =>
  filesIn(directory)
    .filter((name) => NAME.test(name))
    .sort();

/** The database file. @throws DomainError "config" if the data is on PostgreSQL */
export function requireFile({ location }: Config): string {
  if ("file" in location) return location.file;
  throw new DomainError("config", "The data is on PostgreSQL: back it up with pg_dump and restore it with pg_restore");
}

/**
 * Makes a backup while others read and write: as `file`, or in the backup directory under a name with the time.
 * @throws DomainError "not_found" if there is no database, and as `copyDatabase` does
 */
export function createBackup(config: Config, clock: Clock, file?: string): Backup {
  const database = requireFile(config);
  if (isMissing(database)) throw new DomainError("not_found", `There is no database ${database}`);
  const unlock = lockDirectory(config.data_dir, "command");
  try {
    const to = resolve(file ?? join(config.backup_dir, nextName(config, clock)));
    return { file: to, ...copyDatabase(database, to), bytes: statSync(to).size };
  } finally {
    unlock();
  }
}

// Later than every other name, even if the clock went back: the newest must not look like the oldest.
function nextName(config: Config, clock: Clock): string {
  const newest = listBackups(config.backup_dir).at(-1);
  return nameAt(Math.max(clock.now(), newest ? timeOf(newest) + 1 : 0));
}

/** A backup in the backup directory. */
export interface ListedBackup {
  file: string;
  bytes: number;
  /** In Unix milliseconds. */
  created_at: number;
}

/** Names of the backups that upgrades create. */
const UPGRADE_NAME = /^podkeep-before-\w+\.db$/;

/**
 * Lists the backups in the backup directory, oldest first, those from before an upgrade too.
 * @throws DomainError "config" on PostgreSQL, "unavailable" if the directory can't be read
 */
export function listAllBackups(config: Config): ListedBackup[] {
  requireFile(config);
  return filesIn(config.backup_dir)
    .filter((name) => NAME.test(name) || UPGRADE_NAME.test(name))
    .map((name) => {
      const file = resolve(config.backup_dir, name);
      const { size, mtimeMs } = statSync(file);
      return { file, bytes: size, created_at: NAME.test(name) ? timeOf(name) : Math.round(mtimeMs) };
    })
    .sort((a, b) => a.created_at - b.created_at);
}

/** When the newest backup in the backup directory was made, in Unix milliseconds; null if there is none. */
export function latestBackup(config: Config): number | null {
  const newest = listBackups(config.backup_dir).at(-1);
  return newest ? timeOf(newest) : null;
}

/** Checks a whole backup. @throws DomainError as `checkCopy` does */
export function verifyBackup(file: string): Backup {
  return { file: resolve(file), ...checkCopy(file), bytes: statSync(file).size };
}

/**
 * Removes all but the newest `keep` backups from the backup directory. Returns the removed names.
 * @throws DomainError "config" if the data is on PostgreSQL, "unavailable" if the directory can't be read
 */
export function pruneBackups(config: Config, clock: Clock, keep: number): string[] {
  requireFile(config);
  const directory = config.backup_dir;
  const old = listBackups(directory).slice(0, -keep);
  for (const name of [...old, ...abandoned(directory, clock)]) rmSync(join(directory, name), { force: true });
  return old;
}

// Left by a process that was killed. A younger one may be in the making, and vanish at any moment.
function abandoned(directory: string, clock: Clock): string[] {
  const writtenAt = (name: string) => statSync(join(directory, name), { throwIfNoEntry: false })?.mtimeMs;
  return filesIn(directory)
    .filter((name) => name.startsWith("podkeep-") && name.endsWith(".db.partial"))
    .filter((name) => clock.now() - (writtenAt(name) ?? clock.now()) > DAY);
}
