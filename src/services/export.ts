// All data of a user, for the user: every table, without secrets.
import { type Row, transfers } from "../store/transfer.ts";
import type { Actor } from "./actor.ts";
import type { Context } from "./context.ts";

/** Columns that let somebody sign in, or mean nothing outside the database. */
const LEFT_OUT = /hash|key|secret|^user_id$/;

export interface ExportedTable {
  name: string;
  /** Rows, some at a time; times are Unix milliseconds. */
  parts: Iterable<Row[]>;
}

/** Reads all data of a user at one moment. */
export function exportAccount({ database }: Context, { user_id }: Actor): Promise<ExportedTable[]> {
  return database.read(async (tx) => {
    const tables: ExportedTable[] = [];
    for (const { name, list } of transfers) tables.push({ name, parts: inParts(await list(tx, { user_id })) });
    return tables;
  });
}

/** Rows in one part: about a millisecond of work. */
const PART = 500;

function* inParts(rows: Row[]): Generator<Row[]> {
  for (let start = 0; start < rows.length; start += PART) yield rows.slice(start, start + PART).map(withoutSecrets);
}

const withoutSecrets = (row: Row): Row =>
  Object.fromEntries(Object.entries(row).filter(([column]) => !LEFT_OUT.test(column)));
