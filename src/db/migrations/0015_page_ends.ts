// Where pages of the change feed ended, for apps that count pages.
import { type Kysely, type Migration, sql } from "kysely";
import { type Dialect, textType } from "./dialect.ts";

export function addPageEnds(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      await db.schema
        .createTable("page_ends")
        .modifyEnd(sql.raw(dialect.tableOptions))
        .addColumn("user_id", text, (column) => column.notNull().references("users.id").onDelete("cascade"))
        .addColumn("page", text, (column) => column.notNull())
        .addColumn("changed_at", "bigint", (column) => column.notNull())
        .addColumn("guid", text, (column) => column.notNull())
        .addColumn("ended_at", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("page_ends_key", ["user_id", "page", "changed_at", "guid"])
        .execute();
    },
  };
}
