// The owners of a data directory and its files: root's work as the owner, and what to do about other owners and modes.
import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { quote } from "../../config/shell.ts";
import { codeOf, DomainError, reasonOf } from "../../errors.ts";

/**
 * Gives root the effective ids of the directory's owner, so that no file in it becomes root's: the server, which runs
 * as that owner, could not use it. For others, and in root's own directory, nothing changes.
 * @returns the function that makes the process root again
 */
export function becomeOwnerOf(directory: string): () => void {
  const { geteuid, getegid, getgroups, setgroups, setegid, seteuid } = process;
  if (geteuid?.() !== 0 || !getegid || !getgroups || !setgroups || !setegid || !seteuid) return () => {};
  const owner = statSync(directory, { throwIfNoEntry: false });
  if (!owner || owner.uid === 0) return () => {};
  const before = { gid: getegid(), groups: getgroups() };
  setgroups([owner.gid]);
  setegid(owner.gid);
  seteuid(owner.uid);
  return () => {
    seteuid(0);
    setegid(before.gid);
    setgroups(before.groups);
  };
}

/**
 * As becomeOwnerOf(), for reading a file: root becomes its owner, unless only root can put files beside it.
 * @returns the function that makes the process root again
 */
export function becomeReaderOf(file: string): () => void {
  const directory = statSync(dirname(file), { throwIfNoEntry: false });
  const isPrivate = directory?.uid === 0 && (directory.mode & 0o022) === 0;
  return isPrivate ? () => {} : becomeOwnerOf(file);
}

/** Whether a file or a directory belongs to the account of this process; false if that can't be known. */
export function isOwn(path: string): boolean {
  try {
    return statSync(path).uid === process.geteuid?.();
  } catch {
    return false;
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** What to type if a file or a directory that this account owns, or any for root, is refused all the same. */
export const adviseOnFlag = (path: string): string => `lsattr -d may show an i for it: sudo chattr -i ${quote(path)}`;

/** What to type so that this account can use a file or a directory that it was refused: a sentence without its full stop. */
export function adviseOnRights(path: string): string {
  const found = statSync(path);
  const { mode, uid } = found;
  const [needed, rights] = found.isDirectory() ? [0o700, "u+rwx"] : [0o600, "u+rw"];
  const account = process.geteuid?.();
  if (uid !== account) return `It must belong to the account ${account}: sudo chown ${account} ${quote(path)}`;
  if ((mode & needed) === needed) return adviseOnFlag(path);
  return `Its mode is ${(mode & 0o777).toString(8)}: chmod ${rights} ${quote(path)}`;
}

/** What to do if a command may not use the data. */
export const WITH_RIGHTS = "Run this with sudo, or as the account of the server";

/** What to do if a command was denied a file or a directory, as the end of the error; empty if that is not the reason. */
export function adviseOnDenial(error: unknown, path: string): string {
  if (codeOf(error) !== "EACCES") return "";
  return `. ${isOwn(path) ? adviseOnRights(path) : WITH_RIGHTS}`;
}

/** For commands. @throws DomainError "unavailable" if this account is denied the directory, with what to do */
export function requireRights(directory: string): void {
  // A file in its place: using it as a directory says so.
  if (isFile(directory)) return;
  try {
    accessSync(directory, constants.R_OK | constants.X_OK);
  } catch (error) {
    const advice = adviseOnDenial(error, directory);
    if (advice === "") return;
    throw new DomainError("unavailable", `${directory} can't be read: ${reasonOf(error)}${advice}`, { cause: error });
  }
}

/** The account that root works as, for errors about files that root could use; null for others. */
export function ownerName(): string | null {
  return process.geteuid?.() === process.getuid?.() ? null : accountName();
}

/** The name of the account that this process works as; its number if it has none. */
export function accountName(): string {
  const uid = process.geteuid?.();
  try {
    const accounts = readFileSync("/etc/passwd", "utf8").split("\n");
    return accounts.find((account) => account.split(":")[2] === String(uid))?.split(":")[0] || String(uid);
  } catch {
    return String(uid);
  }
}
