// Lookups of feeds. No foreign keys, so that the tables can stay on one node of a sharded PostgreSQL.
import type { Kysely, Migration } from "kysely";
import { createTable, type Dialect, textType } from "./dialect.ts";

export function addFeedLookups(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      await createTable(db, dialect, "feed_lookups")
        .addColumn("feed", text, (column) => column.primaryKey().notNull())
        .addColumn("feed_url", text, (column) => column.notNull())
        .addColumn("next_at", "bigint", (column) => column.notNull())
        .addColumn("checked_at", "bigint")
        .addColumn("etag", text)
        .addColumn("last_modified", text)
        .addColumn("title", text)
        .addColumn("guid", text)
        .addColumn("moved_to", text)
        .addColumn("moved_since", "bigint")
        .addColumn("moved_seen", "integer", (column) => column.notNull())
        .addColumn("failures", "integer", (column) => column.notNull())
        .addColumn("failing_since", "bigint")
        .addColumn("reason", text)
        .execute();
      await db.schema.createIndex("feed_lookups_due").on("feed_lookups").columns(["next_at"]).execute();

      await createTable(db, dialect, "feed_followers")
        .addColumn("feed", text, (column) => column.notNull())
        .addColumn("user_id", text, (column) => column.notNull())
        .addPrimaryKeyConstraint("feed_followers_key", ["feed", "user_id"])
        .execute();
      await db.schema.createIndex("feed_followers_by_user").on("feed_followers").columns(["user_id"]).execute();

      await createTable(db, dialect, "feed_walks")
        .addColumn("user_id", text, (column) => column.primaryKey().notNull())
        .addColumn("clock", "bigint", (column) => column.notNull())
        .execute();
    },
  };
}
