// Statements on whole rows of every table: copying a user to another database, deleting a user.
import { sql } from "kysely";
import { COPYING, MIGRATION_TABLE } from "../db/migrations/migrate.ts";
import type { Owner, UserTable } from "../db/schema.ts";
import { bulkStatement, statement, type Tx } from "../db/statement.ts";
import { type Table, tables } from "../db/tables.ts";

export type Row = Record<string, string | number | null>;

const refs = (columns: readonly string[]) => sql.join(columns.map((column) => sql.ref(column)));

interface OwnedTable extends Table<Row> {
  name: string;
  owner: string;
}

/** Tables whose rows belong to users. */
const owned: OwnedTable[] = Object.entries<Table<Row>>(tables).flatMap(([name, { owner, ...table }]) =>
  owner === null ? [] : [{ name, owner, ...table }],
);

/** All rows of one user, in the order of their key. */
const listRows = ({ name, owner, key, columns }: OwnedTable) =>
  statement(
    (_, p: Owner) =>
      sql<Row>`select ${refs(Object.keys(columns))} from ${sql.table(name)}
        where ${sql.ref(owner)} = ${p.user_id} order by ${refs(key)}`,
  );

/** The columns that mean something to the user; the id in the database doesn't. */
const exportedColumns = ({ owner, columns }: OwnedTable) =>
  Object.entries(columns).flatMap(([name, kind]) => (kind.endsWith("internal") || name === owner ? [] : [name]));

const insertRows = ({ name, columns }: OwnedTable) =>
  bulkStatement((_, __: Record<never, never>, rows: Row[]) => {
    const names = Object.keys(columns);
    const values = rows.map((row) => sql`(${sql.join(names.map((column) => row[column]))})`);
    return sql<never>`insert into ${sql.table(name)} (${refs(names)}) values ${sql.join(values)}`;
  });

/** How to read and write the rows of each table, in the order in which they can be inserted. */
export const transfers = owned
  .filter(({ cache }) => !cache)
  .map((table) => ({
    name: table.name,
    exported: exportedColumns(table),
    list: listRows(table),
    insert: insertRows(table),
  }));

/** Statements that delete a user's rows, first those that refer to others. */
const deletes = owned
  .toReversed()
  .map(({ name, owner }) =>
    statement((_, p: Owner) => sql<never>`delete from ${sql.table(name)} where ${sql.ref(owner)} = ${p.user_id}`),
  );

/** Deletes a user and everything that belongs to the user, without help of foreign keys: not all tables have them. */
export async function deleteUserRows(tx: Tx, owner: Owner): Promise<void> {
  for (const run of deletes) await run(tx, owner);
}

const migrations = sql.table(MIGRATION_TABLE);

/** Marks the database as filled by a copy. */
export const beginCopy = statement(
  (_, p: { at: string }) =>
    sql<never>`insert into ${migrations} (name, timestamp) values (${sql.lit(COPYING)}, ${p.at}) on conflict do nothing`,
);

export const endCopy = statement(() => sql<never>`delete from ${migrations} where name = ${sql.lit(COPYING)}`);

/** Users in the order of their ids, after this one. */
export const listUsersAfter = statement((db, p: { id: UserTable["id"]; limit: number }) =>
  db.selectFrom("users").select(["id", "public_id"]).where("id", ">", p.id).orderBy("id").limit(p.limit),
);
