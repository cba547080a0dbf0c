// What statements share: values and columns of rows, whole rows as db/tables.ts describes them, pages of rows.
import { type Kysely, type OrderByItemBuilder, type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import type { ActorColumns, Owner, Schema } from "../db/schema.ts";
import { bulkStatement, statement, type Value } from "../db/statement.ts";
import { columnsOf, type Table, tables } from "../db/tables.ts";

type Values = Record<string, Value>;
type Name = keyof Schema;
type Fields<Of extends Name, Columns> = { [One in Columns & keyof Schema[Of] & string]: Schema[Of][One] & Value };

/** The columns that say who did something. */
export const ACTOR = ["actor_kind", "actor_id", "actor_label", "actor_device"] as const;

/** What a list is filtered by for one app: its token's id; else its device; else its label. */
export const APP = sql<string | null>`coalesce(actor_id, actor_device, actor_label)`;

// PostgreSQL would sort those without a name last.
const nullsFirst = (order: OrderByItemBuilder) => order.nullsFirst();

/** Who did something, of all that some rows say. */
export const actorsIn = <Of extends Name>(db: Kysely<Schema>, rows: SelectQueryBuilder<Schema, Of, ActorColumns>) =>
  db
    .selectFrom(rows.as("latest"))
    .select(ACTOR)
    .distinct()
    .orderBy("actor_label", nullsFirst)
    .orderBy("actor_device", nullsFirst);

/** Columns as names in SQL. */
export const refs = (columns: readonly string[]) => sql.join(columns.map((column) => sql.ref(column)));

/** A number in VALUES, whose type PostgreSQL can't know otherwise. */
export const bigint = (value: number | null) => sql<number>`cast(${value} as bigint)`;

/** Rows of VALUES: the numbers in these columns. */
export const numbersOf = <Column extends string>(rows: readonly Record<Column, number | null>[], columns: Column[]) =>
  sql.join(rows.map((row) => sql`(${sql.join(columns.map((column) => bigint(row[column])))})`));

/** Above all ids and timestamps, and below. With one bound alone, PostgreSQL expects more rows, which it would sort. */
export const HIGHEST = sql.lit(Number.MAX_SAFE_INTEGER);
export const LOWEST = sql.lit(Number.MIN_SAFE_INTEGER);

/** A condition that PostgreSQL takes to be true of most rows: of few, it would sort all that a user has to find them. */
export const passes = (condition: RawBuilder<unknown>) => sql<boolean>`case when ${condition} then 1 else 0 end <> 0`;

/** Rows with one column for a bulk statement, each value once. */
export const rowsOf = <Column extends string, Value>(column: Column, values: Iterable<Value>) =>
  [...new Set(values)].map((value) => ({ [column]: value }) as Record<Column, Value>);

/** A column's value in each row. */
export const columnOf = <Row, Column extends keyof Row>(rows: readonly Row[], column: Column): Row[Column][] =>
  rows.map((row) => row[column]);

/** Some fields of a statement's values, which can't list their own. */
export const pick = <Values, Column extends keyof Values>(values: Values, columns: readonly Column[]) =>
  Object.fromEntries(columns.map((column) => [column, values[column]])) as Pick<Values, Column>;

/** An insert of rows, to which clauses may be added. */
export function insertInto(name: string, columns: readonly string[], rows: readonly Values[]): RawBuilder<never> {
  const values = rows.map((row) => sql`(${sql.join(columns.map((column) => row[column]))})`);
  return sql`insert into ${sql.table(name)} (${refs(columns)}) values ${sql.join(values)}`;
}

interface Saving<Kept = string, Fixed = string> {
  /** Columns that are not written. */
  kept?: readonly Kept[];
  /** Columns that are only inserted: SQLite writes an index of what it replaces, also with the same value. */
  fixed?: readonly Fixed[];
}

function saveInto(name: Name, rows: readonly Values[], { kept = [], fixed = [] }: Saving = {}): RawBuilder<never> {
  const { key }: Table<Values> = tables[name];
  const columns = columnsOf(name).filter((column: string) => !kept.includes(column));
  const replaced = columns.filter((column) => !key.includes(column) && !fixed.includes(column));
  const settings = replaced.map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`);
  return sql`${insertInto(name, columns, rows)} on conflict (${refs(key)}) do update set ${sql.join(settings)}`;
}

/** Rows with the columns that all of them share. */
const withShared = (name: Name, shared: readonly string[], p: Values, rows: readonly Values[]) =>
  rows.map((row) =>
    Object.fromEntries(
      columnsOf(name).map((column: string) => [column, (shared.includes(column) ? p : row)[column] ?? null]),
    ),
  );

/** Makes a function that inserts a row. */
export const insertRow = <Of extends Name>(name: Of) =>
  statement((_, p: Fields<Of, keyof Schema[Of]>) => insertInto(name, columnsOf(name), [p]));

/** Makes a function that inserts a row. One that exists gets all new fields. */
export const saveRow = <Of extends Name>(name: Of) =>
  statement((_, p: Fields<Of, keyof Schema[Of]>) => saveInto(name, [p]));

/** Makes a function that inserts rows. @param shared columns with the same value in all rows */
export const insertRows = <Of extends Name, Shared extends keyof Schema[Of] & string>(name: Of, shared: Shared[]) =>
  bulkStatement((_, p: Fields<Of, Shared>, rows: Fields<Of, Exclude<keyof Schema[Of], Shared>>[]) =>
    insertInto(name, columnsOf(name), withShared(name, shared, p, rows)),
  );

/** Makes a function that inserts rows. Those that exist stay as they are. */
export const addRows = <Of extends Name, Shared extends keyof Schema[Of] & string>(name: Of, shared: Shared[]) =>
  bulkStatement((_, p: Fields<Of, Shared>, rows: Fields<Of, Exclude<keyof Schema[Of], Shared>>[]) => {
    const insert = insertInto(name, columnsOf(name), withShared(name, shared, p, rows));
    return sql<never>`${insert} on conflict do nothing`;
  });

/** Makes a function that inserts rows. Those that exist get all new fields. */
export const saveRows = <
  Of extends Name,
  Shared extends keyof Schema[Of] & string,
  Kept extends keyof Schema[Of] & string = never,
>(
  name: Of,
  shared: Shared[],
  saving: Saving<Kept, keyof Schema[Of] & string> = {},
) =>
  bulkStatement((_, p: Fields<Of, Shared>, rows: Fields<Of, Exclude<keyof Schema[Of], Shared | Kept>>[]) =>
    saveInto(name, withShared(name, shared, p, rows), saving),
  );

/** Makes a function that deletes all rows of a user. @param owner the column with the user's id */
export const deleteRowsOf = (name: string, owner = "user_id") =>
  statement((_, p: Owner) => sql<never>`delete from ${sql.table(name)} where ${sql.ref(owner)} = ${p.user_id}`);

// SQLite skips no rows without a limit, and plans again for one that is a parameter.
function deleteAfterFirst(name: Name, order: RawBuilder<unknown>, p: Owner & { kept: number }, counted = sql``) {
  const key = sql.ref(tables[name].key.find((column) => column !== "user_id") ?? "");
  return sql<never>`delete from ${sql.table(name)} where user_id = ${p.user_id} and ${key} in (
    select ${key} from ${sql.table(name)} where user_id = ${p.user_id} ${counted}
    order by ${order}, ${key} limit 1000000 offset ${p.kept})`;
}

/** Makes a function that deletes all rows of a user but the first `kept` in an order. */
export const deleteAllBut = (name: Name, order: RawBuilder<unknown>) =>
  statement((_, p: Owner & { kept: number }) => deleteAfterFirst(name, order, p));

/** Makes a function that deletes all rows of a user but one and the first `kept` others in an order. */
export const deleteAllButOneAnd = (name: Name, order: RawBuilder<unknown>) =>
  statement((_, p: Owner & { id: string; kept: number }) => deleteAfterFirst(name, order, p, sql`and id != ${p.id}`));

/** Rows of a table that are deleted at a time: others wait for all of a statement. */
export const PART = 1000;

/** Rows of a page: two megabytes, if each has the longest feed URL. */
export const PAGE = 256;

/**
 * Reads rows after a key, a page in each statement, so that others get a turn between them.
 * @param list lists up to `limit` rows after a key, in the order of the keys
 * @param most how many rows to read
 */
export async function* readPages<Key, Row>(
  first: Key,
  list: (after: Key, limit: number) => Promise<Row[]>,
  keyOf: (row: Row) => Key,
  most = Number.MAX_SAFE_INTEGER,
): AsyncGenerator<Row[]> {
  let after = first;
  for (let left = most; left > 0; left -= PAGE) {
    const limit = Math.min(left, PAGE);
    const page = await list(after, limit);
    const last = page.at(-1);
    if (!last) return;
    yield page;
    if (page.length < limit) return;
    after = keyOf(last);
  }
}

/** Reads rows as `readPages` does. Most lists have one page, and a generator takes a tenth of a phone's list of 200. */
export async function readRows<Key, Row>(
  first: Key,
  list: (after: Key, limit: number) => Promise<Row[]>,
  keyOf: (row: Row) => Key,
  most = Number.MAX_SAFE_INTEGER,
): Promise<Row[]> {
  const limit = Math.min(most, PAGE);
  const page = await list(first, limit);
  const last = page.at(-1);
  if (!last || page.length < limit) return page;
  const rows = [...page];
  for await (const next of readPages(keyOf(last), list, keyOf, most - limit)) for (const row of next) rows.push(row);
  return rows;
}
