// The age of the newest backup.
import { latestBackup } from "../backups/backups.ts";
import type { Config } from "../config/settings.ts";
import { type Finding, ok, warning } from "./finding.ts";

const ABOUT = "backups";
const DAY = 24 * 60 * 60 * 1000;
/** Days after which a backup is old. */
const OLD = 8;

/** @param now wall time in Unix milliseconds */
export function checkBackups(config: Config, now: number): Finding {
  const latest = latestBackup(config);
  const advice = 'Set PODKEEP_BACKUP_SCHEDULE="30 3 * * *", or run podkeep backup create';
  if (latest === null) return warning(ABOUT, "no backups", advice);
  const days = Math.floor((now - latest) / DAY);
  if (days > OLD) return warning(ABOUT, `the newest is ${days} days old`, advice);
  return ok(ABOUT, `the newest is from ${new Date(latest).toISOString()}`);
}
