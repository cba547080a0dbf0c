// Where pages of the change feed ended, for apps that count pages.
import type { Kysely, Migration } from "kysely";
import { createUserTable, type Dialect, textType } from "./dialect.ts";

export function addPageEnds(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      await createUserTable(db, dialect, "page_ends")
        .addColumn("page", text, (column) => column.notNull())
        .addColumn("changed_at", "bigint", (column) => column.notNull())
        .addColumn("guid", text, (column) => column.notNull())
        .addColumn("ended_at", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("page_ends_key", ["user_id", "page", "changed_at", "guid"])
        .execute();
    },
  };
}
