// The database: whether it opens, and whether it is damaged.
import { existsSync } from "node:fs";
import { type App, openApp } from "../app.ts";
import type { Location } from "../config/location.ts";
import type { Config } from "../config/settings.ts";
import { findDamage } from "../db/sqlite/file.ts";
import { DomainError, messageOf } from "../errors.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const ABOUT = "database";
/** What to do about data that can't be opened. */
const ADVICE = {
  file: "See what it says; a backup that is sound can be restored with podkeep backup restore",
  server:
    "See what it says; check PODKEEP_DATABASE_URL, and that PostgreSQL runs and lets this machine in (pg_hba.conf)",
};

/** Opens the data without migrating it; the app is null if further reads may fail. The caller closes it. */
export async function checkDatabase(config: Config): Promise<{ finding: Finding; app: App | null }> {
  const { location } = config;
  if ("file" in location && !existsSync(location.file)) {
    return { finding: warning(ABOUT, `${location.file} is not there`, "Start the server: it makes one"), app: null };
  }
  let app: App;
  try {
    app = await openApp({ ...config, migrate: "command" });
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const advice = "file" in location ? ADVICE.file : ADVICE.server;
    return { finding: problem(ABOUT, error.message, advice), app: null };
  }
  const finding = checkDamage(location);
  if (finding.state === "ok") return { finding, app };
  await app.close();
  return { finding, app: null };
}

function checkDamage(location: Location): Finding {
  if ("url" in location) return ok(ABOUT, "can be used, and its schema is this program's");
  const advice = "Stop the server and restore a backup; the damaged file is kept aside";
  try {
    const damage = findDamage(location.file);
    return damage ? problem(ABOUT, damage, advice) : ok(ABOUT, "is whole, and its schema is this program's");
  } catch (error) {
    return problem(ABOUT, messageOf(error), advice);
  }
}
