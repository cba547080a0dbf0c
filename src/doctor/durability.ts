// What PostgreSQL does so that a crash loses nothing that was acknowledged.
import { sql } from "kysely";
import type { App } from "../app.ts";
import { statement } from "../db/statement.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const ABOUT = "durability";

/** Which are off, for this user in this database. */
const listOff = statement(
  () => sql<{ name: string }>`select name from pg_settings
    where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off' order by name`,
);

/** Commits of this user that wait for a synchronous standby, for longer than one that is there takes. */
const countWaiting = statement(
  () => sql<{ count: number }>`select count(*) as count from pg_stat_activity
    where datname = current_database() and wait_event = 'SyncRep' and query_start < now() - interval '1 second'`,
);

export async function checkDurability({ database }: App): Promise<Finding> {
  const [waiting] = await database.read((tx) => countWaiting(tx, {}));
  if (waiting && waiting.count > 0) {
    const advice = "Start the standby that synchronous_standby_names names, or take it out and reload PostgreSQL";
    return problem(ABOUT, `changes wait for a synchronous standby of PostgreSQL: ${waiting.count}`, advice);
  }
  const rows = await database.read((tx) => listOff(tx, {}));
  if (rows.length === 0) return ok(ABOUT, "PostgreSQL keeps acknowledged changes in a crash");
  const names = rows.map(({ name }) => name).join(", ");
  return warning(ABOUT, `off in PostgreSQL: ${names}. A crash loses acknowledged changes`, "Set them to on");
}
