// Root's work in a data directory, done as the directory's owner.
import { statSync } from "node:fs";

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

/** Who this process works as, for errors about files that root could use; empty for its real user. */
export function describeOwner(): string {
  const uid = process.geteuid?.();
  return uid === process.getuid?.() ? "" : ` by uid ${uid}, the owner of the data directory`;
}
