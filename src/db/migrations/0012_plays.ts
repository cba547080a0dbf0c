// Plays: what was listened to, one row for each stretch.
import type { Kysely, Migration } from "kysely";
import { createTable, type Dialect, textType } from "./dialect.ts";

export function addPlays(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      await db.schema
        .alterTable("users")
        .addColumn("last_play", "bigint", (column) => column.notNull().defaultTo(0))
        .execute();
      // No foreign key, as for episodes.
      await createTable(db, dialect, "plays")
        .addColumn("user_id", text, (column) => column.notNull())
        .addColumn("id", "bigint", (column) => column.notNull())
        .addColumn("episode", "bigint", (column) => column.notNull())
        .addColumn("client", "bigint", (column) => column.notNull())
        .addColumn("begun_at", "bigint", (column) => column.notNull())
        .addColumn("ended_at", "bigint", (column) => column.notNull())
        .addColumn("started", "bigint")
        .addColumn("position", "bigint")
        .addColumn("total", "bigint")
        .addColumn("arrived_at", "bigint", (column) => column.notNull())
        .addColumn("actor_kind", text, (column) => column.notNull())
        .addColumn("actor_id", text)
        .addColumn("actor_label", text)
        .addColumn("actor_device", text)
        .addPrimaryKeyConstraint("plays_key", ["user_id", "begun_at", "id"])
        .execute();
      await db.schema
        .createIndex("plays_by_episode")
        .on("plays")
        .columns(["user_id", "episode", "client", "begun_at"])
        .execute();
    },
  };
}
