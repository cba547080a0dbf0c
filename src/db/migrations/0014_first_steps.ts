// The code that makes the first user, and links by which users choose their password.
import type { Kysely, Migration } from "kysely";
import { createTable, type Dialect, textType } from "./dialect.ts";

export function addFirstSteps(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      await createTable(db, dialect, "setup_codes")
        .addColumn("id", "integer", (column) => column.primaryKey().notNull())
        .addColumn("code", text, (column) => column.notNull())
        .execute();
      await createTable(db, dialect, "password_links")
        .addColumn("user_id", text, (column) =>
          column.primaryKey().notNull().references("users.id").onDelete("cascade"),
        )
        .addColumn("link_hash", text, (column) => column.notNull().unique())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .execute();
    },
  };
}
