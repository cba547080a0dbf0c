// Episodes that follow their podcasts in parts.
import type { Kysely, Migration } from "kysely";
import { createTable, type Dialect, textType } from "./dialect.ts";

export function addEpisodeMoves(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      // No foreign key, as of episodes.
      await createTable(db, dialect, "episode_moves")
        .addColumn("user_id", "bigint", (column) => column.notNull())
        .addColumn("batch", "bigint", (column) => column.notNull())
        .addColumn("podcast", "bigint", (column) => column.notNull())
        .addColumn("feed", text, (column) => column.notNull())
        .addColumn("target", "bigint")
        .addColumn("feed_url", text)
        .addColumn("until", "bigint", (column) => column.notNull())
        .addColumn("last_episode", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("episode_moves_key", ["user_id", "batch", "podcast", "feed"])
        .execute();
    },
  };
}
