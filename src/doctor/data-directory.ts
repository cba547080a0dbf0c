// The data folder: whose it is, and whether there is room in it.
import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { latestBackup } from "../backups/backups.ts";
import type { Config } from "../config/settings.ts";
import { messageOf } from "../errors.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const MEGABYTE = 1024 * 1024;
const DAY = 24 * 60 * 60 * 1000;
/** Bytes below which the disk is full for us; also as many times the database, for a backup and its log. */
const LEAST_SPACE = 50 * MEGABYTE;
const LEAST_COPIES = 3;
const LEAST_INODES = 100;
/** Days after which a backup is old. */
const OLD = 8;

/**
 * For data in a file; with PostgreSQL there is nothing in the folder.
 * @param now wall time in Unix milliseconds
 */
export function checkFolder(config: Config, file: string, now: number): Finding[] {
  const folder = resolve(config.data_dir);
  if (!existsSync(folder)) {
    return [
      warning("data folder", `${folder} is not there`, "Start the server, or name the right one with --data-dir"),
    ];
  }
  return [checkRights(folder, file), ...checkRoom(folder, file), checkBackups(config, now)];
}

function checkRights(folder: string, file: string): Finding {
  const about = "data folder";
  try {
    for (const path of [folder, file].filter((path) => existsSync(path))) {
      accessSync(path, constants.R_OK | constants.W_OK);
    }
  } catch (error) {
    return problem(about, messageOf(error), "Run this as the user whose server it is, or give that user the folder");
  }
  const { mode, uid } = statSync(folder);
  const database = existsSync(file) ? statSync(file) : null;
  const other = database && database.uid !== uid ? database.uid : null;
  if (other !== null) {
    const detail = `${folder} belongs to user ${uid}, the database in it to user ${other}`;
    return problem(about, detail, `chown -R ${uid} ${folder}`);
  }
  if (((mode | (database?.mode ?? 0)) & 0o077) !== 0) {
    return warning(about, `Others on this machine can read ${folder}`, `chmod -R go= ${folder}`);
  }
  return ok(about, `${folder}, its owner's alone`);
}

function checkRoom(folder: string, file: string): Finding[] {
  const { bavail, bsize, files, ffree } = statfsSync(folder);
  const free = bavail * bsize;
  const needed = Math.max(LEAST_SPACE, LEAST_COPIES * (existsSync(file) ? statSync(file).size : 0));
  const room = `${Math.floor(free / MEGABYTE)} MiB free`;
  const advice = "Make room: old backups, logs, packages";
  return [
    free < needed
      ? problem("disk space", `${room}, ${Math.ceil(needed / MEGABYTE)} needed`, advice)
      : ok("disk space", room),
    // Some file systems have no fixed number of them and say 0.
    files > 0 && ffree < LEAST_INODES
      ? problem("inodes", `${ffree} free: no more files can be made`, "Remove small files; df -i tells where they are")
      : ok("inodes", files > 0 ? `${ffree} free` : "as many as the disk has room for"),
  ];
}

function checkBackups(config: Config, now: number): Finding {
  const about = "backups";
  const latest = latestBackup(config);
  const advice = "Set PODKEEP_BACKUP_SCHEDULE, such as 30 3 * * *, or run podkeep backup create";
  if (latest === null) return warning(about, "There is none", advice);
  const days = Math.floor((now - latest) / DAY);
  return days > OLD
    ? warning(about, `The newest is ${days} days old`, advice)
    : ok(about, `The newest is of ${new Date(latest).toISOString()}`);
}
