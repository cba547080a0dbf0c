// The backups: the age of the newest one, and whether the schedule is kept.
import { mkdtempSync, rmdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { latestBackup, readBackup } from "../backups/backups.ts";
import { LONGEST, lastScheduled } from "../backups/schedule.ts";
import type { Config } from "../config/settings.ts";
import { OtherSchema } from "../db/migrations/migrate.ts";
import { listBackups } from "../db/sqlite/backup-files.ts";
import { describeDangling, isMissing } from "../db/sqlite/file.ts";
import { codeOf, isDiskFull, messageOf, reasonOf } from "../errors.ts";
import { FREE_SPACE } from "./disk-space.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const ABOUT = "backups";
/** Milliseconds after which a backup is old. */
const OLD = 8 * 24 * 60 * 60 * 1000;

/** @param now wall time in Unix milliseconds @param zone time zone of the server, if it has another one */
export function checkBackups(config: Config, now: number, zone?: string): Finding {
  const dangling = describeDangling(config.backup_dir);
  if (dangling !== null) {
    const detail = `${config.backup_dir} can't be used: ${dangling}`;
    return problem(ABOUT, detail, "Or set PODKEEP_BACKUP_DIR to another directory");
  }
  const refusal = findRefusal(config.backup_dir);
  if (refusal) {
    const [reason, advice] = [reasonOf(refusal), adviseOn(refusal)];
    if (!isMissing(config.backup_dir)) return problem(ABOUT, `can't write to ${config.backup_dir}: ${reason}`, advice);
    const detail = `${config.backup_dir} does not exist, and can't be created: ${reason}`;
    // Created below an empty mount point, it would be on the disk of the data.
    return problem(ABOUT, detail, codeOf(refusal) === "EACCES" ? `Mount its disk, if it has one. ${advice}` : advice);
  }
  const latest = latestBackup(config, now)?.created_at ?? null;
  const newest = latest === null ? describeNone(config, now) : `the newest is from ${new Date(latest).toISOString()}`;
  const due = lastScheduled(config, now - LONGEST, zone);
  if (due !== null && (latest ?? 0) < due) {
    const advice =
      'Search the server\'s log for "backup failed": it tries again every half hour. Without that, restart it';
    return problem(ABOUT, `${newest}, but one was due at ${new Date(due).toISOString()}`, advice);
  }
  const isOld = due === null && (latest ?? 0) < now - OLD;
  if (!isOld) return ok(ABOUT, newest);
  return warning(ABOUT, newest, 'Set PODKEEP_BACKUP_SCHEDULE="30 3 * * *", or run podkeep backup create');
}

const describeNone = ({ backup_dir }: Config, now: number) =>
  listBackups(backup_dir, now).length > 0 ? "all are dated in the future" : "no backups";

function adviseOn(refusal: Error): string {
  if (isDiskFull(refusal)) return FREE_SPACE;
  if (codeOf(refusal) === "EROFS")
    return "Mount the disk for writing. If it turned read-only while in use, it is failing";
  return "Give the directory to the server's account; with systemd, check ReadWritePaths= too";
}

/** Reads the newest backup from end to end. Nothing to report if there is none. */
export function checkNewestBackup(config: Config, now: number): Finding[] {
  let latest: ReturnType<typeof latestBackup>;
  try {
    latest = latestBackup(config, now);
  } catch {
    // checkBackups() reports it.
    return [];
  }
  if (!latest) return [];
  try {
    const { tables } = readBackup(latest.file);
    if (tables["users"]) return [ok("newest backup", "undamaged")];
    return [warning("newest backup", `${latest.file} has no users`, "If there were any, restore an older backup")];
  } catch (error) {
    if (error instanceof OtherSchema) {
      const detail = `${latest.file} was made by a newer podkeep, and only that can restore it`;
      return [problem("newest backup", detail, "Run podkeep backup create, and keep that file")];
    }
    const advice = "Run podkeep backup create, then remove the damaged file; check the disk";
    return [problem("newest backup", messageOf(error), advice)];
  }
}

// By trying: access(2) asks for the real user id, which is root's while the doctor works as the owner of the data.
function findRefusal(directory: string): Error | null {
  try {
    rmdirSync(mkdtempSync(join(directory, ".doctor-")));
    return null;
  } catch (error) {
    // The first backup creates it.
    if (codeOf(error) === "ENOENT") return findRefusal(dirname(directory));
    return error instanceof Error ? error : new Error(String(error));
  }
}
