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
  file: "Fix the cause, or restore a backup with podkeep backup restore",
  server: "Check PODKEEP_DATABASE_URL, and that PostgreSQL runs and accepts this machine (pg_hba.conf)",
};

/** Opens the data without migrating it; the app is null if further reads may fail. The caller closes it. */
export async function checkDatabase(config: Config): Promise<{ finding: Finding; app: App | null }> {
  const { location } = config;
  if ("file" in location && !existsSync(location.file)) {
    return {
      finding: warning(ABOUT, `${location.file} does not exist`, "Start the server, or create a user"),
      app: null,
    };
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
  if ("url" in location) return ok(ABOUT, "opens, and its schema is current");
  const advice = "Stop the server and run podkeep backup restore; it keeps the damaged file";
  try {
    const damage = findDamage(location.file);
    return damage ? problem(ABOUT, damage, advice) : ok(ABOUT, "undamaged, and its schema is current");
  } catch (error) {
    return problem(ABOUT, `can't be read: ${messageOf(error)}`, advice);
  }
}
