// The backups: the age of the newest one, and whether the schedule is kept.
import { mkdtempSync, rmdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { latestBackup } from "../backups/backups.ts";
import { lastScheduled } from "../backups/schedule.ts";
import type { Config } from "../config/settings.ts";
import { reasonOf } from "../errors.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const ABOUT = "backups";
/** Milliseconds after which a backup is old. */
const OLD = 8 * 24 * 60 * 60 * 1000;
/** Milliseconds that a scheduled backup may take. */
const DURATION = 60 * 60 * 1000;

/** @param now wall time in Unix milliseconds */
export function checkBackups(config: Config, now: number): Finding {
  const reason = whyNotWritable(config.backup_dir);
  if (reason) {
    const advice = "Give the directory to the server's account; with systemd, check ReadWritePaths= too";
    return problem(ABOUT, `can't write to ${config.backup_dir}: ${reason}`, advice);
  }
  const latest = latestBackup(config, now)?.created_at ?? null;
  const newest = latest === null ? "no backups" : `the newest is from ${new Date(latest).toISOString()}`;
  const due = lastScheduled(config, now - DURATION);
  if (due !== null && (latest ?? 0) < due) {
    const advice = 'Restart the server; if that makes none, search its log for "backup failed"';
    return problem(ABOUT, `${newest}, but one was due at ${new Date(due).toISOString()}`, advice);
  }
  const isOld = due === null && (latest ?? 0) < now - OLD;
  if (!isOld) return ok(ABOUT, newest);
  return warning(ABOUT, newest, 'Set PODKEEP_BACKUP_SCHEDULE="30 3 * * *", or run podkeep backup create');
}

// By trying: access(2) asks for the real user id, which is root's while the doctor works as the owner of the data.
function whyNotWritable(directory: string): string | null {
  try {
    rmdirSync(mkdtempSync(join(directory, ".doctor-")));
    return null;
  } catch (error) {
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    // The first backup creates it.
    return missing ? whyNotWritable(dirname(directory)) : reasonOf(error);
  }
}
