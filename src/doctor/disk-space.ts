// Free space and free inodes of the data directory's file system.
import { statfsSync } from "node:fs";
import { sizeOf } from "../db/sqlite/file.ts";
import { describeSize } from "../sizes.ts";
import { type Finding, ok, problem } from "./finding.ts";

/** Bytes below which the disk counts as full. */
const LEAST_SPACE = 50 * 1024 * 1024;
/** Free space in sizes of the database: a backup needs one, the write-ahead log another. */
const LEAST_COPIES = 3;
const LEAST_INODES = 100;
/** What to do about a full disk. */
export const FREE_SPACE = "Free some space: old backups, logs, packages";

/** @param file the database file, which may be missing */
export function checkDiskSpace(directory: string, file: string): Finding[] {
  const { bavail, bsize, files, ffree } = statfsSync(directory);
  const free = bavail * bsize;
  const needed = Math.max(LEAST_SPACE, LEAST_COPIES * sizeOf(file));
  const room = `${describeSize(free)} free`;
  return [
    free < needed
      ? problem("disk space", `${room}, ${describeSize(needed)} needed`, FREE_SPACE)
      : ok("disk space", room),
    // File systems without a fixed number of inodes report 0.
    files > 0 && ffree < LEAST_INODES
      ? problem(
          "inodes",
          `${ffree} free: almost no files can be created`,
          "Remove small files; df -i shows which disks have too many",
        )
      : ok("inodes", files > 0 ? `${ffree} free` : "not limited"),
  ];
}
