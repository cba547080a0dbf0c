// The data directory: its rights, its mode, and the owners of the files in it.
import { accessSync, chmodSync, constants, lstatSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Location } from "../config/location.ts";
import { quote } from "../config/shell.ts";
import { lockIn } from "../db/sqlite/directory-lock.ts";
import { adviseOnFlag, adviseOnRights, isOwn, WITH_RIGHTS } from "../db/sqlite/directory-owner.ts";
import { linkTarget } from "../db/sqlite/file.ts";
import { findNetwork } from "../db/sqlite/file-system.ts";
import { codeOf, reasonOf } from "../errors.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const ABOUT = "data directory";
/** What to do about a disk that is read-only. */
export const SAVE =
  "The disk may be failing: copy podkeep.db* to another one, and run podkeep backup create --data-dir there";

/** What is wrong if this account must not use the data; no other check of files makes sense then. */
export function findDenial(location: Location): Finding | null {
  if ("url" in location) return null;
  const directory = dirname(location.file);
  let path = directory;
  try {
    for (path of [directory, location.file]) {
      if (statSync(path, { throwIfNoEntry: false })) accessSync(path, constants.R_OK | constants.W_OK);
    }
    return null;
  } catch (error) {
    const detail = `${directory} can't be used by this account: ${reasonOf(error)}. Database and backups were not checked`;
    return problem(ABOUT, detail, adviseOn(codeOf(error), path));
  }
}

function adviseOn(code: string, path: string): string {
  if (code === "EPERM") return adviseOnFlag(path);
  if (code === "EACCES") return isOwn(path) ? adviseOnRights(path) : WITH_RIGHTS;
  return code === "EROFS" ? SAVE : "Name the right one with --data-dir";
}

/** @param file the database file, which may be missing */
export function checkDataDirectory(directory: string, file: string): Finding {
  const found = statSync(directory, { throwIfNoEntry: false });
  if (!found) {
    return warning(
      ABOUT,
      `${directory} does not exist`,
      "Start the server, or name the right directory with --data-dir",
    );
  }
  const { mode, uid, gid } = found;
  const foreign = findForeign(directory, uid);
  if (foreign) {
    const detail = `${directory} is owned by uid ${uid}, ${foreign.path} by uid ${foreign.uid}`;
    return problem(ABOUT, detail, `sudo chown -R ${uid}:${gid} ${quote(directory)}`);
  }
  const target = linkTarget(file);
  if (target !== null) {
    const detail = `${file} is a symbolic link to ${target}: no backup can be restored, and the loss of its log is not noticed`;
    return warning(
      ABOUT,
      detail,
      `Stop the server, and move ${target} with its -wal to ${directory}; or link the directory`,
    );
  }
  if ((statSync(file, { throwIfNoEntry: false })?.nlink ?? 1) > 1) {
    const detail = `${file} has another name (a hard link): what opens it there damages it`;
    return warning(ABOUT, detail, `Find it (find DIRECTORY -samefile ${quote(file)}), and delete it there`);
  }
  const network = findNetwork(directory);
  if (network) return warning(ABOUT, network, "Move it to a local disk");
  if (!isPrivate(mode | (statSync(file, { throwIfNoEntry: false })?.mode ?? 0))) {
    const advice = keepsModes(directory)
      ? `chmod -R go= ${quote(directory)}`
      : `chmod has no effect on this disk: mount it with uid=${uid},gid=${gid},umask=077`;
    return warning(ABOUT, `other accounts can read ${directory}`, advice);
  }
  return ok(ABOUT, `${directory}, private to its owner`);
}

/** Whether chmod has an effect in the directory: FAT, exFAT and NTFS give all files the mode of their mount. */
function keepsModes(directory: string): boolean {
  const lock = lockIn(directory);
  const mode = statSync(lock, { throwIfNoEntry: false })?.mode ?? 0;
  // Of another account's file, chmod is refused on every disk.
  if (isPrivate(mode) || !isOwn(lock)) return true;
  try {
    chmodSync(lock, 0o600);
    const { mode: changed } = statSync(lock);
    // Its owner may share the directory with a group.
    chmodSync(lock, mode);
    return isPrivate(changed);
  } catch {
    return false;
  }
}

const isPrivate = (mode: number) => (mode & 0o077) === 0;

/** Root's directory at the top of a disk, for what fsck finds. */
const OF_DISK = "lost+found";

/** The first file below the directory that another user owns. */
function findForeign(directory: string, uid: number): { path: string; uid: number } | null {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (entry.name === OF_DISK) continue;
    const path = join(directory, entry.name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found && found.uid !== uid) return { path, uid: found.uid };
    const below = entry.isDirectory() ? findForeign(path, uid) : null;
    if (below) return below;
  }
  return null;
}
