// Backups of the database file: making, checking and pruning.
import { existsSync, realpathSync, rmSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/settings.ts";
import { type Contents, checkCopy, copyDatabase, refuseInUse } from "../db/sqlite/backup.ts";
import {
  type DatedBackup,
  filesIn,
  hasUsers,
  listBackups,
  listDated,
  nameAt,
  sortBackups,
  timeOf,
} from "../db/sqlite/backup-files.ts";
import { keepDamagedLog } from "../db/sqlite/damaged-log.ts";
import { isServed, lockDirectory } from "../db/sqlite/directory-lock.ts";
import { becomeReaderOf, requireRights } from "../db/sqlite/directory-owner.ts";
import { requireResponse } from "../db/sqlite/directory-response.ts";
import { describeDangling, isMissing } from "../db/sqlite/file.ts";
import { refuseLost, requireBackups } from "../db/sqlite/lost.ts";
import { codeOf, DomainError } from "../errors.ts";

const DAY = 24 * 60 * 60 * 1000;

interface Backup extends Contents {
  file: string;
  bytes: number;
}

/** The database file. @throws DomainError "config" if the data is on PostgreSQL */
export function requireFile({ location }: Config): string {
  if ("file" in location) return location.file;
  const advice = "back it up with pg_dump, and restore a dump as podkeep help postgresql says";
  throw new DomainError("config", `The data is on PostgreSQL: ${advice}`);
}

/**
 * Makes a backup while others read and write: as `file`, or in the backup directory under a name with the time. Removes
 * what killed processes left of backups of that name.
 * @throws DomainError "not_found" if there is no database, or no directory of `file`, "unavailable" if the directory doesn't
 * respond, and as `copyDatabase` does
 */
export async function createBackup(config: Config, clock: Clock, file?: string): Promise<Backup> {
  const database = requireFile(config);
  await requireResponse(file === undefined ? config.backup_dir : dirname(file));
  if (file !== undefined) refuseMissing(dirname(file));
  await requireBackups(database, config.backup_dir);
  refuseLost(database, config.backup_dir);
  if (isMissing(database)) throw new DomainError("not_found", `There is no database ${database}`);
  const unlock = lockDirectory(config.data_dir, "command");
  try {
    if (!isServed(config.data_dir)) keepDamagedLog(database);
    const to = resolve(file ?? join(config.backup_dir, nextName(config, clock)));
    const contents = copyDatabase(database, to);
    removeAbandoned(dirname(to), clock, file === undefined ? isLeftHere : isLeftOf(basename(to)));
    return { file: to, ...contents, bytes: statSync(to).size };
  } finally {
    unlock();
  }
}

/** Refuses a directory that was named and is missing: its disk may not be mounted. */
function refuseMissing(directory: string): void {
  if (!isMissing(directory) || describeDangling(directory) !== null) return;
  throw new DomainError("not_found", `There is no directory ${directory}: mount its disk, or create it`);
}

function nextName({ backup_dir }: Config, clock: Clock): string {
  const taken = filesIn(backup_dir);
  let time = clock.now();
  while (taken.includes(nameAt(time))) time++;
  return nameAt(time);
}

/** The backup directory, for commands. @throws DomainError "config" on PostgreSQL, "not_found", "unavailable" */
async function requireDirectory(config: Config): Promise<string> {
  requireFile(config);
  await requireResponse(config.backup_dir);
  // The one in the data directory is made with the first backup.
  if (dirname(resolve(config.backup_dir)) !== resolve(config.data_dir)) refuseMissing(config.backup_dir);
  requireRights(config.backup_dir);
  return config.backup_dir;
}

/** Lists the backups in the backup directory, as `listDated` does. @throws DomainError as `requireDirectory` does */
export async function listAllBackups(config: Config, clock: Clock): Promise<DatedBackup[]> {
  return listDated(await requireDirectory(config), clock.now());
}

/**
 * The newest backup in the backup directory, without those that are dated after `now`; null if there is none.
 * @param now in Unix milliseconds
 */
export function latestBackup({ backup_dir }: Config, now: number): { file: string; created_at: number } | null {
  return latestOf(filesIn(backup_dir), backup_dir, now);
}

function latestOf(names: string[], directory: string, now: number): ReturnType<typeof latestBackup> {
  const name = sortBackups(names, now).at(-1);
  const created_at = name === undefined ? null : timeOf(name);
  if (name === undefined || created_at === null || created_at > now) return null;
  return { file: resolve(directory, name), created_at };
}

/** As latestBackup(), for the server: in Unix milliseconds, 0 if there is none, null if it can't be known. */
export async function newestBackupTime(config: Config, now: number): Promise<number | null> {
  if ("url" in config.location) return null;
  try {
    return latestOf(await readNames(config.backup_dir), config.backup_dir, now)?.created_at ?? 0;
  } catch (error) {
    return codeOf(error) === "ENOENT" ? 0 : null;
  }
}

/** Reads of directories that have not ended. */
const reads = new Map<string, Promise<string[]>>();

/**
 * As filesIn(), in another thread: a network disk that is gone can keep a read for days. All wait for the same read, since
 * Bun has two such threads, which hash passwords too.
 */
function readNames(directory: string): Promise<string[]> {
  const read = reads.get(directory) ?? readdir(directory).finally(() => reads.delete(directory));
  reads.set(directory, read);
  return read;
}

/** Checks a whole backup. @throws DomainError as `checkCopy` does, "unavailable" if its directory doesn't respond */
export async function verifyBackup(file: string): Promise<Backup> {
  await requireResponse(dirname(file));
  return readBackup(file);
}

/** As verifyBackup(), in a directory that responds. */
export function readBackup(file: string): Backup {
  refuseInUse(file);
  const path = existsSync(file) ? realpathSync(file) : file;
  const becomeRoot = becomeReaderOf(path);
  try {
    return { file: resolve(file), ...checkCopy(path, file), bytes: statSync(path).size };
  } finally {
    becomeRoot();
  }
}

/**
 * Removes all but the newest `keep` backups from the backup directory; the newest with users stays in any case.
 * Returns the removed names.
 * @throws DomainError as `requireDirectory` does
 */
export async function pruneBackups(config: Config, clock: Clock, keep: number): Promise<string[]> {
  const directory = await requireDirectory(config);
  const names = listBackups(directory, clock.now());
  // A lost database is followed by backups without users.
  const last = names.findLast((name) => hasUsers(join(directory, name)));
  const old = names.slice(0, -keep).filter((name) => name !== last);
  for (const name of old) rmSync(join(directory, name), { force: true });
  removeAbandoned(directory, clock, isLeftHere);
  return old;
}

/** What is left of backups that podkeep named, and of those that were given this name. */
const isLeftHere = (name: string) => /^podkeep-.*\.db\.(\w+\.)?partial(-journal)?$/.test(name);
const isLeftOf = (file: string) => (name: string) =>
  name.startsWith(`${file}.`) && /^[0-9a-f]{8}\.partial(-journal)?$/.test(name.slice(file.length + 1));

/** Removes what processes that were killed left. A younger file may be in the making, and vanish at any moment. */
function removeAbandoned(directory: string, clock: Clock, isLeft: (name: string) => boolean): void {
  const isOld = (file: string) => {
    const written = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? clock.now();
    return Math.abs(clock.now() - written) > DAY;
  };
  try {
    const left = filesIn(directory).filter(isLeft);
    for (const file of left.map((name) => join(directory, name)).filter(isOld)) rmSync(file, { force: true });
  } catch {
    // It may be another account's; no backup fails for it.
  }
}
