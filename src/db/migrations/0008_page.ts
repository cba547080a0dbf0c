// The web page's sessions, and links that show the values of a new app once.
import { type Kysely, type Migration, sql } from "kysely";
import { type Dialect, textType } from "./dialect.ts";

export function addPage(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      const table = (name: string) =>
        db.schema
          .createTable(name)
          .modifyEnd(sql.raw(dialect.tableOptions))
          .addColumn("user_id", text, (column) => column.notNull().references("users.id").onDelete("cascade"));

      await table("page_sessions")
        .addColumn("id", text, (column) => column.notNull())
        .addColumn("token_id", text)
        .addColumn("browser", text, (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("seen_at", "bigint", (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("page_sessions_key", ["user_id", "id"])
        .execute();

      await table("connect_links")
        .addColumn("link_hash", text, (column) => column.primaryKey().notNull())
        .addColumn("sealed_secret", text, (column) => column.notNull())
        .addColumn("opened", "integer", (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .execute();
      await db.schema.createIndex("connect_links_by_expiry").on("connect_links").columns(["expires_at"]).execute();
    },
  };
}
