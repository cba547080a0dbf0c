// File systems that may lack what SQLite needs: locks, and memory that processes share.
import { statfsSync } from "node:fs";
import { codeOf, isDiskFull, reasonOf } from "../../errors.ts";

const FUSE = "FUSE (such as mergerfs, sshfs or rclone)";

/** By the numbers that Linux gives them. */
const NAMES = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xfe534d42, "SMB"],
  [0xff534d42, "SMB"],
  [0x01021997, "9P"],
  [0x786f4256, "a shared folder of VirtualBox"],
  [0x65735546, FUSE],
]);

/** That a directory is on another computer's disk; null if it is not. */
export function findNetwork(directory: string): string | null {
  const name = nameOf(directory);
  return name === null || name === FUSE ? null : `${directory} is on ${name}, where SQLite may lose data`;
}

/** What went wrong in a directory, and whether its file system may be the cause. */
export const reasonIn = (directory: string, error: unknown) => reasonOf(error) + suspect(directory, error);

/** Whether a directory's disk takes no more files. File systems without a fixed number of inodes report 0. */
function lacksInodes(directory: string): boolean {
  const { files, ffree } = statfsSync(directory);
  return files > 0 && ffree === 0;
}

/** A sentence to add to an error of SQLite if the directory's disk may be the cause; else empty. */
export function suspect(directory: string, error: unknown): string {
  if (codeOf(error).startsWith("SQLITE_CANTOPEN") && lacksInodes(directory)) {
    return `. ${directory} is on a disk with too many files: df -i shows it`;
  }
  if (isDiskFull(error) || !/^SQLITE_(BUSY|IOERR|PROTOCOL)/.test(codeOf(error))) return "";
  const name = nameOf(directory);
  if (name === null) return "";
  return `. ${directory} is on ${name}, which may lack the locks or the shared memory that SQLite needs: use a local disk`;
}

function nameOf(directory: string): string | null {
  try {
    return NAMES.get(statfsSync(directory).type) ?? null;
  } catch {
    return null;
  }
}
