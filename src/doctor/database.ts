// The database: whether it opens, and whether it is damaged.
import { dirname } from "node:path";
import { type App, openApp, refuseLostData } from "../app.ts";
import type { Config } from "../config/settings.ts";
import { OtherSchema, UnfinishedCopy } from "../db/migrations/migrate.ts";
import { PoolerFault } from "../db/postgres/errors.ts";
import { lockDirectory } from "../db/sqlite/directory-lock.ts";
import { ADVICE_ON_DISK, findDamage, findUnread, isMissing, sizeOf } from "../db/sqlite/file.ts";
import { writeNothing } from "../db/statement.ts";
import { codeOf, isDiskFull, isRefusal, reasonOf } from "../errors.ts";
import { SAVE } from "./data-directory.ts";
import { FREE_SPACE } from "./disk-space.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const ABOUT = "database";
/** What to do about data that can't be opened. */
const ADVICE = {
  copy: "Stop all servers first. The copy continues where it ended",
  file: "Fix the cause, or restore a backup with podkeep backup restore",
  restoring: "Run this again when it is done",
  schema: "podkeep help upgrades says when to restart the server, and how to go back",
  server: "Check PODKEEP_DATABASE_URL, and that PostgreSQL runs and accepts this machine (pg_hba.conf)",
};

/** Opens the data without migrating it; the app is null if further reads may fail. The caller closes it. */
export async function checkDatabase(config: Config): Promise<{ finding: Finding; app: App | null }> {
  const { location } = config;
  const without = (finding: Finding) => ({ finding, app: null });
  let app: App | null = null;
  try {
    await refuseLostData(config);
    if ("file" in location && sizeOf(location.file) === 0) {
      const state = isMissing(location.file) ? "does not exist" : "is empty";
      return without(warning(ABOUT, `${location.file} ${state}`, "Start the server, or create a user"));
    }
    // Servers of PostgreSQL look for a pooler that mixes up their statements; a file can have one server only.
    app = await openApp({ ...config, migrate: "command" }, { use: "file" in location ? "command" : "server" });
    const finding = "file" in location ? checkDamage(location.file) : await checkTransactions(app);
    if (finding.state === "ok") return { finding, app };
    if ("file" in location) return without(await blameDisk(app, location.file, finding));
    await app.close();
    return without(finding);
  } catch (error) {
    await app?.close();
    if (error instanceof PoolerFault) return without(problem(ABOUT, error.fault, `In PgBouncer, ${error.advice}`));
    return without(problem(ABOUT, reasonOf(error), adviseOn(error, "file" in location)));
  }
}

function adviseOn(error: unknown, isFile: boolean): string {
  // Before a server is restarted, or after an older program was installed. A restored backup would lose what is new.
  if (error instanceof OtherSchema) return ADVICE.schema;
  if (error instanceof UnfinishedCopy) return ADVICE.copy;
  if (error instanceof Error && codeOf(error.cause) === "EROFS") return SAVE;
  if (isDiskFull(error)) return FREE_SPACE;
  if (isRefusal(error, "conflict")) return ADVICE.restoring;
  return isFile ? ADVICE.file : ADVICE.server;
}

/** Transactions at the same time, which a connection pooler in between may mix up. */
async function checkTransactions({ database }: App): Promise<Finding> {
  await Promise.all([1, 2, 3].map(() => database.write((tx) => writeNothing(tx, {}))));
  return ok(ABOUT, "opens, and its schema is current");
}

/** Closes the file, and gives its finding: what looks like damage may be a page that can't be read. */
async function blameDisk(app: App, file: string, finding: Finding): Promise<Finding> {
  // A restore must not replace the file while this looks at it again.
  const unlock = lockDirectory(dirname(file), "command");
  try {
    await app.close();
    const unread = findUnread(file);
    return unread === null ? finding : problem(ABOUT, `can't be read: ${unread}`, ADVICE_ON_DISK);
  } finally {
    unlock();
  }
}

function checkDamage(file: string): Finding {
  const advice = "Stop the server and run podkeep backup restore; it keeps the damaged file";
  try {
    const damage = findDamage(file);
    return damage ? problem(ABOUT, damage, advice) : ok(ABOUT, "undamaged, and its schema is current");
  } catch (error) {
    return problem(ABOUT, `can't be read: ${reasonOf(error)}`, advice);
  }
}
