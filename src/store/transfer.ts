// Statements that move whole rows from one database to another.
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Schema, UserTable } from "../db/schema.ts";
import { bulkStatement, statement } from "../db/statement.ts";

type Row = Record<string, string | number | null>;
/** Every column, or this does not compile. */
type Columns<T extends keyof Schema> = Record<keyof Schema[T], true>;

/** A table whose rows can be moved. */
export interface Copyable {
  name: keyof Schema;
  /** All rows of one user, in the order of their key. */
  list: ReturnType<typeof listRows>;
  insert: ReturnType<typeof insertRows>;
}

const compilable = <R>(db: Kysely<Schema>, query: RawBuilder<R>) => ({ compile: () => query.compile(db) });

const listRows = (table: string, columns: string[], owner: string, order: string[]) =>
  statement((db, p: { user_id: string }) =>
    compilable(
      db,
      sql<Row>`select ${sql.join(columns.map((name) => sql.ref(name)))} from ${sql.table(table)}
        where ${sql.ref(owner)} = ${p.user_id} order by ${sql.join(order.map((name) => sql.ref(name)))}`,
    ),
  );

const insertRows = (table: string, columns: string[]) =>
  bulkStatement((db, _: Record<never, never>, rows: Row[]) =>
    compilable(
      db,
      sql<never>`insert into ${sql.table(table)} (${sql.join(columns.map((name) => sql.ref(name)))})
        values ${sql.join(rows.map((row) => sql`(${sql.join(columns.map((name) => row[name]))})`))}`,
    ),
  );

function copyable<T extends keyof Schema>(
  name: T,
  owner: keyof Schema[T] & string,
  order: (keyof Schema[T] & string)[],
  columns: Columns<T>,
): Copyable {
  const names = Object.keys(columns);
  return { name, list: listRows(name, names, owner, order), insert: insertRows(name, names) };
}

/** All that belongs to a user, in the order in which rows refer to one another. */
export const tables: Copyable[] = [
  copyable("users", "id", ["id"], {
    id: true,
    name: true,
    clock: true,
    last_subscription: true,
    last_deletion: true,
    created_at: true,
  }),
  copyable("tokens", "user_id", ["id"], {
    id: true,
    user_id: true,
    label: true,
    scope: true,
    hash: true,
    created_at: true,
    expires_at: true,
    last_used_at: true,
    revoked_at: true,
  }),
  copyable("subscriptions", "user_id", ["id"], {
    user_id: true,
    id: true,
    feed_url: true,
    guid: true,
    is_subscribed: true,
    subscription_changed: true,
    guid_changed: true,
    deleted: true,
    changed_at: true,
  }),
  copyable("guids", "user_id", ["guid"], { user_id: true, guid: true, subscription: true, retired_at: true }),
  copyable("feeds", "user_id", ["feed"], { user_id: true, feed: true, subscription: true }),
  copyable("deletions", "user_id", ["id"], {
    user_id: true,
    id: true,
    subscription: true,
    status: true,
    cancelled: true,
    message: true,
    attempts: true,
    requested_at: true,
    run_after: true,
    finished_at: true,
  }),
];

/** Users in the order of their ids, after this one. */
export const listUsersAfter = statement((db, p: { id: UserTable["id"]; limit: number }) =>
  db.selectFrom("users").select("id").where("id", ">", p.id).orderBy("id").limit(p.limit),
);
