// The data: whether it can be used, is whole, and is worked on.
import { existsSync } from "node:fs";
import { type App, openApp } from "../app.ts";
import type { Config } from "../config/settings.ts";
import { findDamage } from "../db/sqlite/file.ts";
import { DomainError, messageOf } from "../errors.ts";
import { listDeletions } from "../services/deletions.ts";
import { latestStamp } from "../services/users.ts";
import { checkClock } from "./clock.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

/** Bytes above which somebody must be keeping the log from being written back. */
const LARGEST_LOG = 64 * 1024 * 1024;
/** Milliseconds that a deletion may be overdue. */
const PATIENCE = 60_000;
/** What to do about data that can't be opened. */
const ADVICE = {
  file: "See what it says; a backup that is sound can be restored with podkeep backup restore",
  server:
    "See what it says; check PODKEEP_DATABASE_URL, and that PostgreSQL runs and lets this machine in (pg_hba.conf)",
};

/** Opens the data without changing its schema, and looks into it; `use` gets the app while it is open. */
export async function checkData(config: Config, use: (app: App | null) => Promise<Finding[]>): Promise<Finding[]> {
  const { location } = config;
  const alone = async (found: Finding) => [found, checkClock(Date.now(), null), ...(await use(null))];
  if ("file" in location && !existsSync(location.file)) {
    return alone(warning("database", `${location.file} is not there`, "Start the server: it makes one"));
  }
  let app: App;
  try {
    app = await openApp({ ...config, migrate: "command" });
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const advice = "file" in location ? ADVICE.file : ADVICE.server;
    return alone(problem("database", error.message, advice));
  }
  try {
    const found =
      "file" in location ? checkDamage(location.file) : ok("database", "can be used, and its schema is this program's");
    // Any further read may meet the damage, and fail.
    if (found.state !== "ok") return await alone(found);
    return [
      found,
      await checkLog(app),
      checkClock(app.clock.now(), await latestStamp(app)),
      ...(await checkDeletions(app)),
      ...(await use(app)),
    ];
  } finally {
    await app.close();
  }
}

function checkDamage(file: string): Finding {
  const advice = "Stop the server and restore a backup; the damaged file is kept aside";
  try {
    const damage = findDamage(file);
    return damage ? problem("database", damage, advice) : ok("database", "is whole, and its schema is this program's");
  } catch (error) {
    return problem("database", messageOf(error), advice);
  }
}

async function checkLog(app: App): Promise<Finding> {
  const { wal_bytes } = await app.database.status();
  const size = `${Math.ceil(wal_bytes / 1024)} KiB`;
  if (wal_bytes <= LARGEST_LOG) return ok("write-ahead log", size);
  const advice = "Restart the server; if it grows again, find the program that keeps the database open";
  return warning("write-ahead log", `${size}: nobody gets to write it back`, advice);
}

async function checkDeletions(app: App): Promise<Finding[]> {
  const now = app.clock.now();
  const records = await listDeletions(app);
  const stuck = records.filter(({ status, run_after }) => status === "PENDING" && run_after < now - PATIENCE);
  const failed = records.filter(({ status, called_off }) => status === "FAILURE" && !called_off);
  const [first] = failed;
  const findings: Finding[] = [];
  if (stuck.length > 0) {
    findings.push(problem("deletions", `${stuck.length} are overdue`, "Start the server: it carries them out"));
  }
  if (first) {
    const advice = `podkeep deletion show ${first.user} ${first.deletion_id} tells why; podkeep deletion retry tries again`;
    findings.push(warning("deletions", `${failed.length} failed for good`, advice));
  }
  return findings.length > 0 ? findings : [ok("deletions", "none is overdue")];
}
