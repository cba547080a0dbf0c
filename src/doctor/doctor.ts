// All checks, in the order in which they are reported.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { App } from "../app.ts";
import { findProblems } from "../config/problems.ts";
import type { Config, Flags } from "../config/settings.ts";
import { withTemporaryToken } from "../services/tokens.ts";
import { latestTimestamp } from "../services/users.ts";
import { checkBackups } from "./backups.ts";
import { checkClock } from "./clock.ts";
import { checkDataDirectory } from "./data-directory.ts";
import { checkDatabase } from "./database.ts";
import { checkDeletions } from "./deletions.ts";
import { checkDiskSpace } from "./disk-space.ts";
import { type Finding, problem } from "./finding.ts";
import { checkPort } from "./port.ts";
import { checkPublicUrl } from "./public-url.ts";
import { checkWriteAheadLog } from "./write-ahead-log.ts";

export interface Outside {
  /** The public URL to check. */
  url?: string;
  /** A token of that server; without it one is issued for a minute. */
  token?: string;
}

/** Runs every check. @param flags the settings given on the command line */
export async function examine(flags: Flags, outside: Outside): Promise<Finding[]> {
  const { settings, problems } = findProblems(flags);
  const findings = problems.map((detail) =>
    problem("settings", detail, "podkeep config show names the source of each setting"),
  );
  if (!settings) return findings;
  const { config } = settings;
  findings.push(...checkFiles(config));
  const { finding, app } = await checkDatabase(config);
  findings.push(finding);
  try {
    if (app) findings.push(await checkWriteAheadLog(app));
    findings.push(checkClock(Date.now(), app && (await latestTimestamp(app))));
    if (app) findings.push(...(await checkDeletions(app)));
    findings.push(...(await checkOutside(app, outside)));
  } finally {
    await app?.close();
  }
  findings.push(await checkPort(config));
  return findings;
}

function checkFiles(config: Config): Finding[] {
  if ("url" in config.location) return [];
  const { file } = config.location;
  const directory = resolve(config.data_dir);
  const rights = checkDataDirectory(directory, file);
  if (!existsSync(directory)) return [rights];
  return [rights, ...checkDiskSpace(directory, file), checkBackups(config, Date.now())];
}

async function checkOutside(app: App | null, { url, token }: Outside): Promise<Finding[]> {
  if (url === undefined) return [];
  if (app && token === undefined) return withTemporaryToken(app, (lent) => checkPublicUrl(url, lent));
  return checkPublicUrl(url, token ?? null);
}
