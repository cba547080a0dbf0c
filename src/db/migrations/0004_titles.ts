// Titles of subscriptions.
import type { Kysely, Migration } from "kysely";
import { type Dialect, textType } from "./dialect.ts";

export function addTitles(dialect: Dialect): Migration {
  return {
    async up(db: Kysely<unknown>) {
      await db.schema.alterTable("subscriptions").addColumn("title", textType(dialect)).execute();
    },
  };
}
