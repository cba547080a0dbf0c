// Statements on whole rows of every table: copying a user to another database, deleting a user.
import { type RawBuilder, sql } from "kysely";
import type { Database } from "../db/database.ts";
import { COPYING, MIGRATION_TABLE } from "../db/migrations/migrate.ts";
import type { Owner } from "../db/schema.ts";
import { bulkStatement, statement, type Tx } from "../db/statement.ts";
import { type Table, tables } from "../db/tables.ts";
import { deleteRowsOf, insertInto, PAGE, PART, readPages, readRows, refs } from "./rows.ts";

export type Row = Record<string, string | number | null>;

interface OwnedTable extends Table<Row> {
  name: string;
  owner: string;
}

/** Tables whose rows belong to users. */
const owned: OwnedTable[] = Object.entries<Table<Row>>(tables).flatMap(([name, { owner, ...table }]) =>
  owner === null ? [] : [{ name, owner, ...table }],
);

/** Lists rows of one user after one of them, in the order of their key. */
function listPageOf({ name, owner, key, columns }: OwnedTable) {
  const rest = key.filter((column) => column !== owner);
  const page = (p: Owner, after: RawBuilder<unknown>) =>
    sql<Row>`select ${refs(Object.keys(columns))} from ${sql.table(name)}
      where ${sql.ref(owner)} = ${p.user_id} ${after} order by ${refs(key)} limit ${sql.lit(PAGE)}`;
  const listFirst = statement((_, p: Owner) => page(p, sql``));
  const listAfter = statement((_, p: Owner & Row) =>
    page(p, sql`and (${refs(rest)}) > (${sql.join(rest.map((column) => p[column]))})`),
  );
  return (tx: Tx, of: Owner, last: Row | null) => (last ? listAfter(tx, { ...last, ...of }) : listFirst(tx, of));
}

/** The columns that mean something to the user; the id in the database doesn't. */
const exportedColumns = ({ owner, columns }: OwnedTable) =>
  Object.entries(columns).flatMap(([name, kind]) => (kind.endsWith("internal") || name === owner ? [] : [name]));

/** How to read and write the rows of each table, in the order in which they can be inserted. */
export const transfers = owned
  .filter(({ cache }) => !cache)
  .map((table) => {
    const listPage = listPageOf(table);
    const keyOf = (row: Row): Row | null => row;
    return {
      name: table.name,
      exported: exportedColumns(table),
      /** Pages, each in its own read transaction. */
      pages: (database: Database, of: Owner) =>
        readPages(null, (last) => database.read((tx) => listPage(tx, of, last)), keyOf),
      list: (tx: Tx, of: Owner) => readRows(null, (last) => listPage(tx, of, last), keyOf),
      insert: bulkStatement((_, __: Record<never, never>, rows: Row[]) =>
        insertInto(table.name, Object.keys(table.columns), rows),
      ),
    };
  });
export type Transfer = (typeof transfers)[number];

/** Statements that delete a user's rows, first those that refer to others. */
const deletes = owned.toReversed().map(({ name, owner }) => deleteRowsOf(name, owner));

/** Deletes a user and everything that belongs to the user, without help of foreign keys: not all tables have them. */
export async function deleteUserRows(tx: Tx, owner: Owner): Promise<void> {
  for (const run of deletes) await run(tx, owner);
}

/** Deletes the first rows of a user in a table, if there are as many as a part has. @returns whether there were */
function deletePartIn({ name, owner, key }: OwnedTable) {
  const rest = key.filter((column) => column !== owner);
  const rows = (p: Owner) => sql`from ${sql.table(name)} where ${sql.ref(owner)} = ${p.user_id}`;
  const findEnd = statement(
    (_, p: Owner) =>
      sql<Row>`select ${refs(rest)} ${rows(p)} order by ${refs(key)} limit 1 offset ${sql.lit(PART - 1)}`,
  );
  const deleteUntil = statement(
    (_, p: Owner & Row) =>
      sql<never>`delete ${rows(p)} and (${refs(rest)}) <= (${sql.join(rest.map((one) => p[one]))})`,
  );
  return async (tx: Tx, of: Owner) => {
    const [end] = await findEnd(tx, of);
    if (end) await deleteUntil(tx, { ...end, ...of });
    return end !== undefined;
  };
}

const deletesOfParts = owned
  .toReversed()
  .filter(({ owner, key }) => key[0] === owner && key.length > 1)
  .map(deletePartIn);

/** Deletes a part of what belongs to a user who has much. @returns whether there was one */
export async function deletePartOfUser(tx: Tx, owner: Owner): Promise<boolean> {
  for (const run of deletesOfParts) if (await run(tx, owner)) return true;
  return false;
}

const migrations = sql.table(MIGRATION_TABLE);

/** Marks the database as filled by a copy. */
export const beginCopy = statement(
  (_, p: { at: string }) =>
    sql<never>`insert into ${migrations} (name, timestamp) values (${sql.lit(COPYING)}, ${p.at}) on conflict do nothing`,
);

export const endCopy = statement(() => sql<never>`delete from ${migrations} where name = ${sql.lit(COPYING)}`);
