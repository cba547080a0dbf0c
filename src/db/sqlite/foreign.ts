// Reading a SQLite database that another program made, or somebody who wants to do harm.
//
// The file is read as bytes into memory: no journal beside it is replayed, and nothing is written. A hostile schema can
// still make a statement run for hours, so this belongs into a process that can be killed (src/moving/file.ts).
import { Database } from "bun:sqlite";
import { DomainError } from "../../errors.ts";

/** Bytes of a value that is read. */
const LONGEST_VALUE = 16 * 1024;

/** A value of a column; a blob is null, and so is what is too long. */
export type ForeignValue = string | number | null;
export type ForeignRow = Record<string, ForeignValue>;

export interface ForeignDatabase {
  /** The columns of a table; null without that table. Views, virtual tables and computed columns don't count. */
  columnsOf(table: string): string[] | null;
  /** Runs a statement that reads, and gives one row after the other. */
  rows(statement: string): Iterable<ForeignRow>;
}

const MAGIC = Buffer.from("SQLite format 3\0");

/** Whether bytes are the beginning of a SQLite database. */
export const isSqlite = (bytes: Uint8Array) => MAGIC.equals(bytes.subarray(0, MAGIC.length));

// What a schema computes can fill the memory, as hex(zeroblob(499999999)) does.
const PRAGMAS = ["trusted_schema = off", "cell_size_check = on", "query_only = on", "ignore_check_constraints = on"];
const COMPUTED = `select 1 from sqlite_schema as one, pragma_table_xinfo(one.name) as part
  where one.type = 'table' and part."hidden" in (2, 3)`;

/** Opens the bytes of a database. @throws if they are not a sound one; DomainError "invalid" if it computes columns */
export function openForeign(bytes: Uint8Array): ForeignDatabase {
  // A copy in memory has no write-ahead log, so the header must not ask for one (fileformat2, bytes 18 and 19).
  if (bytes.length > 100) bytes.fill(1, 18, 20);
  const database = Database.deserialize(bytes, { readonly: true, strict: true });
  for (const pragma of PRAGMAS) database.run(`pragma ${pragma}`);
  if (database.query(COMPUTED).get()) throw new DomainError("invalid", "The database has columns that are computed");
  const [sound] = database.query("pragma quick_check(1)").values();
  if (sound?.[0] !== "ok") throw new Error("The database is damaged");
  return {
    columnsOf(table) {
      const found = database.query("select type, sql from sqlite_schema where lower(name) = lower(?)").get(table);
      if (!isTable(found)) return null;
      const columns = database.query('select name from pragma_table_xinfo(?) where "hidden" = 0').values(table);
      return columns.map(([name]) => String(name).toLowerCase());
    },
    *rows(statement) {
      const columns = database.query(statement).columnNames.map(boundedColumn);
      for (const row of database.query(`select ${columns} from (${statement})`).iterate()) yield readRow(row);
    },
  };
}

const isTable = (row: unknown) =>
  typeof row === "object" &&
  row !== null &&
  "type" in row &&
  row.type === "table" &&
  "sql" in row &&
  !/^\s*create\s+virtual/i.test(String(row.sql));

// Of a column that was added, each row has the default, which is a megabyte in the file once.
const boundedColumn = (name: string) =>
  `iif(octet_length("${name}") <= ${LONGEST_VALUE}, "${name}", null) as "${name}"`;

function readRow(row: unknown): ForeignRow {
  return Object.fromEntries(
    Object.entries(row ?? {}).map(([name, value]) => [
      name,
      typeof value === "string" || typeof value === "number" ? value : null,
    ]),
  );
}
