// The draft of the next Open Podcast API: what it tells of subscriptions, its actions, and its tokens.
import type { Kysely, Migration } from "kysely";
import { cascade, createTable, type Dialect, textType } from "./dialect.ts";

export function addDraft(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      const table = (name: string) =>
        createTable(db, dialect, name)
          .addColumn("user_id", text, (column) => column.notNull())
          .addForeignKeyConstraint(`${name}_user`, ["user_id"], "users", ["id"], cascade);

      await table("sync_entities")
        .addColumn("sync_id", text, (column) => column.notNull())
        .addColumn("subscription", "bigint", (column) => column.notNull())
        .addColumn("changed_at", "bigint", (column) => column.notNull())
        .addColumn("left_at", "bigint")
        .addColumn("left_url", text)
        .addColumn("left_guid", text)
        .addColumn("subscribed_at", "bigint", (column) => column.notNull())
        .addColumn("unsubscribed_at", "bigint")
        .addColumn("status_at", "bigint", (column) => column.notNull())
        .addColumn("address_at", "bigint", (column) => column.notNull())
        .addColumn("client", text)
        .addPrimaryKeyConstraint("sync_entities_key", ["user_id", "sync_id"])
        .execute();
      for (const column of ["subscription", "left_at"]) {
        await db.schema
          .createIndex(`sync_entities_by_${column}`)
          .on("sync_entities")
          .columns(["user_id", column])
          .execute();
      }

      await table("sync_actions")
        .addColumn("action_id", text, (column) => column.notNull())
        .addColumn("request_hash", text, (column) => column.notNull())
        .addColumn("result", text, (column) => column.notNull())
        .addColumn("done_at", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("sync_actions_key", ["user_id", "action_id"])
        .execute();

      await table("login_tokens")
        .addColumn("token_hash", text, (column) => column.notNull())
        .addColumn("token_id", text, (column) => column.notNull())
        .addColumn("family", text, (column) => column.notNull())
        .addColumn("kind", text, (column) => column.notNull())
        .addColumn("generation", "integer", (column) => column.notNull())
        .addColumn("used", "integer", (column) => column.notNull())
        .addColumn("owns_token", "integer", (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("login_tokens_key", ["token_hash"])
        .execute();
      await db.schema.createIndex("login_tokens_by_family").on("login_tokens").columns(["user_id", "family"]).execute();
    },
  };
}
