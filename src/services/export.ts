// All data of a user, for the user: every table, without secrets.
import { transfers } from "../store/transfer.ts";
import type { Actor } from "./actor.ts";
import type { Context } from "./context.ts";

/** Columns that let somebody sign in, or mean nothing outside the database. */
const LEFT_OUT = /hash|key|secret|^user_id$/;

/** @returns rows by table; times are Unix milliseconds */
export function exportAccount({ database }: Context, { user_id }: Actor, name: string) {
  return database.read(async (tx) => {
    const tables: Record<string, Record<string, string | number | null>[]> = {};
    for (const { name: table, list } of transfers) {
      const rows = await list(tx, { user_id });
      tables[table] = rows.map((row) =>
        Object.fromEntries(Object.entries(row).filter(([column]) => !LEFT_OUT.test(column))),
      );
    }
    return { user: name, tables };
  });
}
