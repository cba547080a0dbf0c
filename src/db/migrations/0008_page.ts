// The web page's sessions, and links that show the values of a new app once.
import type { Kysely, Migration } from "kysely";
import { createUserTable, type Dialect, textType } from "./dialect.ts";

export function addPage(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      await createUserTable(db, dialect, "page_sessions")
        .addColumn("id", text, (column) => column.notNull())
        .addColumn("token_id", text)
        .addColumn("browser", text, (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("seen_at", "bigint", (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("page_sessions_key", ["user_id", "id"])
        .execute();

      await createUserTable(db, dialect, "connect_links")
        .addColumn("link_hash", text, (column) => column.primaryKey().notNull())
        .addColumn("sealed_secret", text, (column) => column.notNull())
        .addColumn("opened", "integer", (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .execute();
      await db.schema.createIndex("connect_links_by_expiry").on("connect_links").columns(["expires_at"]).execute();
    },
  };
}
