// All data of a user, for the user: every table, without secrets.
import { type Row, type Transfer, transfers } from "../../store/transfer.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";

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
  { exported, pages }: Transfer,
): AsyncGenerator<Row[]> {
  for await (const rows of pages(database, { user_id })) {
    yield rows.map((row) => Object.fromEntries(exported.map((name) => [name, row[name] ?? null])));
  }
}
