// Settings of PostgreSQL without which a crash loses what was acknowledged.
import { sql } from "kysely";
import type { App } from "../app.ts";
import { statement } from "../db/statement.ts";
import { type Finding, ok, warning } from "./finding.ts";

const ABOUT = "durability";

/** Which are off, for this user in this database. */
const listOff = statement(
  () => sql<{ name: string }>`select name from pg_settings
    where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off' order by name`,
);

export async function checkDurability({ database }: App): Promise<Finding> {
  const rows = await database.read((tx) => listOff(tx, {}));
  if (rows.length === 0) return ok(ABOUT, "PostgreSQL keeps acknowledged changes in a crash");
  const names = rows.map(({ name }) => name).join(", ");
  return warning(ABOUT, `off in PostgreSQL: ${names}. A crash loses acknowledged changes`, "Set them to on");
}
