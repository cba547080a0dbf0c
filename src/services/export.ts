// All data of a user, for the user: every table, without secrets.
import { PAGE } from "../store/rows.ts";
import { type Row, type Transfer, transfers } from "../store/transfer.ts";
import type { Actor } from "./actor.ts";
import type { Context } from "./context.ts";

export interface ExportedTable {
  name: string;
  /** Rows, some at a time; times are Unix milliseconds. */
  parts: AsyncIterable<Row[]>;
}

/** Reads all data of a user while it is asked for: together it could be more than the memory. */
export const exportAccount = (context: Context, actor: Actor): ExportedTable[] =>
  transfers.map((table) => ({ name: table.name, parts: partsOf(context, actor, table) }));

async function* partsOf(
  { database }: Context,
  { user_id }: Actor,
  { exported, listPage }: Transfer,
): AsyncGenerator<Row[]> {
  let last: Row | null = null;
  do {
    const after: Row | null = last;
    const rows: Row[] = await database.read((tx) => listPage(tx, { user_id }, after));
    if (rows.length > 0) yield rows.map((row) => Object.fromEntries(exported.map((name) => [name, row[name] ?? null])));
    last = rows.length === PAGE ? (rows.at(-1) ?? null) : null;
  } while (last);
}
