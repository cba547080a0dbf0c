// Sync with apps that keep whole seconds: clients, what they said of feeds, former feed URLs, episode actions.
import { type Kysely, type Migration, sql } from "kysely";
import { cascade, createTable, createUserTable, type Dialect, textType } from "./dialect.ts";

export function addAppSync(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      await db.schema.alterTable("feeds").addColumn("left_url", text).execute();
      await db.schema.alterTable("feeds").addColumn("left_at", "bigint").execute();
      await db.schema
        .createIndex("feeds_by_leaving")
        .on("feeds")
        .columns(["user_id", "left_at"])
        .where(sql.ref("left_at"), "is not", null)
        .execute();

      await createUserTable(db, dialect, "clients")
        .addColumn("id", text, (column) => column.notNull())
        .addColumn("token_id", text)
        .addColumn("device", text)
        .addColumn("product", text)
        .addColumn("seen_at", "bigint", (column) => column.notNull())
        .addColumn("feeds_since", "bigint")
        .addColumn("feeds_start", "bigint")
        .addColumn("feeds_given", "bigint")
        .addColumn("episodes_since", "bigint")
        .addColumn("episodes_start", "bigint")
        .addColumn("episodes_given", "bigint")
        .addPrimaryKeyConstraint("clients_key", ["user_id", "id"])
        .execute();

      await createTable(db, dialect, "claims")
        .addColumn("user_id", text, (column) => column.notNull())
        .addColumn("client", text, (column) => column.notNull())
        .addColumn("feed", text, (column) => column.notNull())
        .addColumn("feed_url", text, (column) => column.notNull())
        .addColumn("replaced", text)
        .addColumn("subscribed", "integer")
        .addColumn("decided", "bigint", (column) => column.notNull())
        .addColumn("told_again", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("claims_key", ["user_id", "client", "feed"])
        .addForeignKeyConstraint("claims_client", ["user_id", "client"], "clients", ["user_id", "id"], cascade)
        .execute();
      await db.schema
        .createIndex("claims_told_again")
        .on("claims")
        .columns(["user_id", "client", "told_again"])
        .where(sql.ref("told_again"), ">", sql.lit(0))
        .execute();

      await createUserTable(db, dialect, "episode_actions")
        .addColumn("episode", text, (column) => column.notNull())
        .addColumn("kind", text, (column) => column.notNull())
        .addColumn("by_url", text, (column) => column.notNull())
        .addColumn("feed", text, (column) => column.notNull())
        .addColumn("feed_url", text, (column) => column.notNull())
        .addColumn("episode_url", text, (column) => column.notNull())
        .addColumn("guid", text)
        .addColumn("sent_at", "bigint", (column) => column.notNull())
        .addColumn("acted_at", "bigint", (column) => column.notNull())
        .addColumn("arrived_at", "bigint", (column) => column.notNull())
        .addColumn("started", "bigint")
        .addColumn("position", "bigint")
        .addColumn("total", "bigint")
        .addColumn("device", text)
        .addColumn("client", text)
        .addPrimaryKeyConstraint("episode_actions_key", ["user_id", "episode", "kind"])
        .addUniqueConstraint("episode_actions_by_arrival", ["user_id", "arrived_at"])
        .execute();
      for (const column of ["by_url", "feed"]) {
        await db.schema
          .createIndex(`episode_actions_${column === "feed" ? "by_feed" : "by_url"}`)
          .on("episode_actions")
          .columns(["user_id", column])
          .execute();
      }
    },
  };
}
