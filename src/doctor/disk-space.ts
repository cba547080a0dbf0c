// Free space and free inodes of the data directory's file system, and free space of the backups'.
import { existsSync, type StatsFs, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
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
  const found = statfsSync(directory);
  const { files, ffree } = found;
  return [
    compare("disk space", found, Math.max(LEAST_SPACE, LEAST_COPIES * sizeOf(file)), FREE_SPACE),
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

/** The room for one more backup. Nothing to report if it is on the disk of the data. @param file as for checkDiskSpace() */
export function checkBackupSpace(backups: string, directory: string, file: string): Finding[] {
  let place = backups;
  while (!existsSync(place)) place = dirname(place);
  if (statSync(place).dev === statSync(directory).dev) return [];
  return [
    compare("backup space", statfsSync(place), sizeOf(file), "Remove old backups: podkeep backup prune --keep COUNT"),
  ];
}

function compare(about: string, { bavail, bsize }: StatsFs, needed: number, advice: string): Finding {
  const room = `${describeSize(bavail * bsize)} free`;
  if (bavail * bsize >= needed) return ok(about, room);
  return problem(about, `${room}, ${describeSize(needed)} needed`, advice);
}
