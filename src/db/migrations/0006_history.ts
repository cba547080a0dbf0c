// History of each user's subscriptions, and who asked for a deletion.
import type { Kysely, Migration } from "kysely";
import { createTable, type Dialect, textType } from "./dialect.ts";

/** Who changed something. */
const ACTOR = ["actor_kind", "actor_id", "actor_label", "actor_device"] as const;

/** The column that the migration itself writes. */
interface Users {
  users: { history_since: number };
}

export function addHistory(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      // No foreign key: Citus refuses one from a table that is not distributed yet, and each insert is faster.
      await createTable(db, dialect, "history")
        .addColumn("user_id", text, (column) => column.notNull())
        .addColumn("changed_at", "bigint", (column) => column.notNull())
        .addColumn("seq", "integer", (column) => column.notNull())
        .addColumn("at", "bigint", (column) => column.notNull())
        .addColumn("subscription", "bigint")
        .addColumn("what", text, (column) => column.notNull())
        .addColumn("feed_url", text)
        .addColumn("guid", text)
        .addColumn("before", text)
        .addColumn("merged_into", "bigint")
        .addColumn("title", text)
        .addColumn("actor_kind", text, (column) => column.notNull())
        .addColumn("actor_id", text)
        .addColumn("actor_label", text)
        .addColumn("actor_device", text)
        .addPrimaryKeyConstraint("history_key", ["user_id", "changed_at", "seq"])
        .execute();
      for (const column of ACTOR) await db.schema.alterTable("deletions").addColumn(column, text).execute();
      await db.schema
        .alterTable("users")
        .addColumn("history_since", "bigint", (column) => column.notNull().defaultTo(0))
        .execute();
      await (db as Kysely<Users>).updateTable("users").set({ history_since: Date.now() }).execute();
    },
  };
}
