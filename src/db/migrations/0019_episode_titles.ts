// What feeds say of episodes: title, length, date.
import type { Kysely, Migration } from "kysely";
import { type Dialect, textType } from "./dialect.ts";

export function addEpisodeTitles(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      // SQLite adds one column at a time.
      await db.schema.alterTable("episodes").addColumn("title", text).execute();
      await db.schema.alterTable("episodes").addColumn("duration", "bigint").execute();
      await db.schema.alterTable("episodes").addColumn("published_at", "bigint").execute();
      await db.schema.alterTable("episodes").addColumn("sought_at", "bigint").execute();
    },
  };
}
