// The last refused request of each device.
import type { Kysely, Migration } from "kysely";
import { cascade, createTable, type Dialect, textType } from "./dialect.ts";

export function addRefusals(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      await createTable(db, dialect, "refusals")
        .addColumn("user_id", text, (column) => column.notNull())
        .addColumn("device", text, (column) => column.notNull())
        .addColumn("refused_at", "bigint", (column) => column.notNull())
        .addColumn("reason", text, (column) => column.notNull())
        .addColumn("app", text)
        .addPrimaryKeyConstraint("refusals_key", ["user_id", "device"])
        .addForeignKeyConstraint("refusals_user", ["user_id"], "users", ["id"], cascade)
        .execute();
    },
  };
}
