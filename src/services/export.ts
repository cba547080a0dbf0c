// All data of a user, for the user: every table, without secrets.
import { type Row, transfers } from "../store/transfer.ts";
import type { Actor } from "./actor.ts";
import type { Context } from "./context.ts";

export interface ExportedTable {
  name: string;
  /** Rows, some at a time; times are Unix milliseconds. */
  parts: Iterable<Row[]>;
}

/** Reads all data of a user at one moment. */
export function exportAccount({ database }: Context, { user_id }: Actor): Promise<ExportedTable[]> {
  return database.read(async (tx) => {
    const tables: ExportedTable[] = [];
    for (const { name, exported, list } of transfers) {
      tables.push({ name, parts: partsOf(await list(tx, { user_id }), exported) });
    }
    return tables;
  });
}

/** Rows in one part: about a millisecond of work. */
const PART = 500;

function* partsOf(rows: Row[], columns: string[]): Generator<Row[]> {
  for (let start = 0; start < rows.length; start += PART) {
    yield rows
      .slice(start, start + PART)
      .map((row) => Object.fromEntries(columns.map((name) => [name, row[name] ?? null])));
  }
}
