// All checks, in the order in which they are reported.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { App } from "../app.ts";
import { findProblems, zoneOfService } from "../config/problems.ts";
import type { Config, Flags, SettingsFile } from "../config/settings.ts";
import { becomeOwnerOf } from "../db/sqlite/directory-owner.ts";
import { requireResponse } from "../db/sqlite/directory-response.ts";
import { reasonOf } from "../errors.ts";
import { withTemporaryToken } from "../services/accounts/tokens.ts";
import { latestTimestamp } from "../services/accounts/users.ts";
import { placeOf } from "../systemd/installed.ts";
import { checkBackups, checkNewestBackup } from "./backups.ts";
import { checkClock, compareClocks } from "./clock.ts";
import { checkDataDirectory, findDenial } from "./data-directory.ts";
import { checkDatabase } from "./database.ts";
import { checkDeletions } from "./deletions.ts";
import { checkBackupSpace, checkDiskSpace } from "./disk-space.ts";
import { checkDurability } from "./durability.ts";
import { checkFeeds } from "./feeds.ts";
import { type Finding, problem } from "./finding.ts";
import { checkMetricsPort, checkPort } from "./port.ts";
import { checkPublicUrl } from "./public-url.ts";
import { checkService } from "./service.ts";
import { checkDamagedLogs, checkWriteAheadLog } from "./write-ahead-log.ts";

const ADVICE = "Fix the cause, and run this again";

export interface Outside {
  /** The public URL to check. */
  url?: string;
  /** A token of that server; without it one is issued for these checks. */
  token?: string;
}

/**
 * Runs every check.
 * @param flags the settings given on the command line
 * @param files the service's settings files; none if the command works on other data
 */
export async function examine(flags: Flags, files: SettingsFile[], outside: Outside): Promise<Finding[]> {
  const { settings, problems } = findProblems(flags, files);
  const findings = problems.map((detail) =>
    problem("settings", detail, "Correct it there; podkeep help settings lists the settings"),
  );
  if (!settings) return findings;
  const { config } = settings;
  const denied = findDenial(config.location);
  if (!denied) findings.push(...(await attempt("files", () => checkFiles(config, zoneOfService(files)))));
  const { finding, app } = denied ? { finding: denied, app: null } : await checkDatabase(config);
  findings.push(finding);
  try {
    const place = placeOf(files);
    const withToken = <T>(work: (token: string | null) => Promise<T>) =>
      app ? withTemporaryToken(app, work) : work(null);
    findings.push(
      ...(await attempt("write-ahead log", () => (app ? checkLogOf(app, config) : []))),
      ...(await attempt("clock", async () => checkClock(Date.now(), app && (await latestTimestamp(app))))),
      ...(await attempt("clock", () => (app && "url" in config.location ? compareClocks(app) : []))),
      ...(await attempt("deletions", async () => (app ? checkDeletions(app) : []))),
      ...(await attempt("feeds", async () => (app ? checkFeeds(app) : []))),
      ...(await attempt("address", () => checkOutside(outside, withToken))),
      ...(await attempt("service", () => (place ? checkService(config, place) : []))),
      ...(await attempt("port", () => withToken((token) => checkPort(config, token)))),
      ...(await attempt("metrics port", () => checkMetricsPort(config))),
    );
  } finally {
    await app?.close();
  }
  return findings;
}

const checkLogOf = (app: App, { location }: Config) =>
  "file" in location ? checkWriteAheadLog(app) : checkDurability(app);

type Result = Finding | Finding[];

/** Runs a check. A check that fails is a finding too, and no reason to leave out the others. */
async function attempt(about: string, check: () => Result | Promise<Result>): Promise<Finding[]> {
  try {
    return [await check()].flat();
  } catch (error) {
    return [problem(about, `can't be checked: ${reasonOf(error)}`, ADVICE)];
  }
}

async function checkFiles(config: Config, zone: string | undefined): Promise<Finding[]> {
  if ("url" in config.location) return [];
  const { file } = config.location;
  const directory = resolve(config.data_dir);
  await requireResponse(config.backup_dir);
  const becomeRoot = becomeOwnerOf(directory);
  try {
    const rights = await attempt("data directory", () => checkDataDirectory(directory, file));
    if (!existsSync(directory)) return rights;
    return [
      ...rights,
      ...(await attempt("disk space", () => checkDiskSpace(directory, file))),
      ...(await attempt("backup space", () => checkBackupSpace(resolve(config.backup_dir), directory, file))),
      ...(await attempt("write-ahead log", () => checkDamagedLogs(file))),
      ...(await attempt("backups", () => [
        checkBackups(config, Date.now(), zone),
        ...checkNewestBackup(config, Date.now()),
      ])),
    ];
  } finally {
    becomeRoot();
  }
}

async function checkOutside(
  { url, token }: Outside,
  withToken: (work: (token: string | null) => Promise<Finding[]>) => Promise<Finding[]>,
): Promise<Finding[]> {
  if (url === undefined) return [];
  return token === undefined ? withToken((issued) => checkPublicUrl(url, issued)) : checkPublicUrl(url, token);
}
