// A missing or empty database file, where there was one before.
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { quote } from "../../config/shell.ts";
import { DomainError } from "../../errors.ts";
import { filesIn, hasUsers, listDated } from "./backup-files.ts";
import { requireResponse } from "./directory-response.ts";
import { isMissing, sizeOf } from "./file.ts";
import { stagedFile } from "./replacement.ts";

/**
 * Refuses a file that is missing or empty although its directory, or that of the backups, shows that there was a
 * database: a new one would look as if all data were lost, and its backups would replace the good ones.
 * @param backup_dir null to look only for an interrupted restore
 * @throws DomainError "config"
 */
export function refuseLost(file: string, backup_dir: string | null): void {
  if (!isEmpty(file)) return;
  if (existsSync(dirname(stagedFile(file)))) {
    throw new DomainError("config", "A restore was interrupted: run `podkeep backup restore` again");
  }
  if (backup_dir === null) return;
  const state = isMissing(file) ? "is missing" : "is empty";
  const directory = quote(resolve(dirname(file)));
  const found = findCopy(file, backup_dir);
  if (found) {
    const restore = `put the file back, or run podkeep backup restore ${quote(found)} --data-dir ${directory}`;
    const advice = `Check that its disk is mounted, ${restore}. To start without data, move ${dirname(found)} away`;
    throw new DomainError("config", `${file} ${state}, but ${found} exists. ${advice}`);
  }
  const log = `${file}-wal`;
  if (!existsSync(log)) return;
  const restore = `Put the file back, or run podkeep backup restore FILE --data-dir ${directory}`;
  const advice = `${restore}. To start without data, remove ${log}`;
  throw new DomainError("config", `${file} ${state}, but its write-ahead log exists. ${advice}`);
}

/**
 * For before refuseLost(), which reads the backups if the file is missing or empty.
 * @throws DomainError "unavailable" if their directory doesn't respond
 */
export async function requireBackups(file: string, backup_dir: string | null): Promise<void> {
  // Those beside the file are on its disk.
  if (backup_dir === null || dirname(backup_dir) === dirname(file) || !isEmpty(file)) return;
  await requireResponse(backup_dir);
}

/** Whether a file is missing or has no bytes. */
export function isEmpty(file: string): boolean {
  try {
    return sizeOf(file) === 0;
  } catch {
    // Opening the file says why.
    return false;
  }
}

/** The newest backup with users, else data that a restore replaced, else the newest backup; null if there is none. */
function findCopy(file: string, backup_dir: string): string | null {
  const backups = [join(dirname(file), "backups"), backup_dir].flatMap(allBackups);
  const replaced = orNothing(() => filesIn(dirname(file)))
    .filter((name) => name.startsWith("replaced-"))
    .sort()
    .map((name) => join(dirname(file), name, "podkeep.db"))
    .findLast((path) => existsSync(path));
  return backups.findLast(hasUsers) ?? replaced ?? backups.at(-1) ?? null;
}

const allBackups = (directory: string) =>
  orNothing(() => listDated(directory, Date.now()).map((backup) => backup.file));

// A directory that can't be read shows nothing.
function orNothing(read: () => string[]): string[] {
  try {
    return read();
  } catch {
    return [];
  }
}
