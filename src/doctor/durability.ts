// Settings of PostgreSQL without which a crash loses what was acknowledged.
import type { App } from "../app.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** As they are for this user in this database. */
const OFF = {
  sql: `select name from pg_settings
    where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off' order by name`,
  parameters: [],
};

export async function checkDurability({ database }: App): Promise<Finding> {
  const rows = (await database.read((tx) => tx.execute(OFF))) as { name: string }[];
  if (rows.length === 0) return ok("durability", "PostgreSQL keeps acknowledged changes in a crash");
  const names = rows.map(({ name }) => name).join(", ");
  return warning("durability", `off in PostgreSQL: ${names}. A crash loses acknowledged changes`, "Set them to on");
}
