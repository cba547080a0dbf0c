// Episodes in a table with a rowid on SQLite: their long rows would take a page each beside small pages.
import { type Kysely, type Migration, sql } from "kysely";
import { type Dialect, textType } from "./dialect.ts";

export function giveEpisodesRowids(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(db: Kysely<unknown>) {
      if (!dialect.prefersRowids) return;
      await db.schema
        .createTable("episodes_rebuilt")
        .addColumn("user_id", text, (column) => column.notNull())
        .addColumn("id", "bigint", (column) => column.notNull())
        .addColumn("podcast", "bigint", (column) => column.notNull())
        .addColumn("feed_url", text)
        .addColumn("guid", text)
        .addColumn("url", text, (column) => column.notNull())
        .addColumn("guid_key", "bigint")
        .addColumn("url_key", "bigint")
        .addColumn("title", text)
        .addColumn("duration", "bigint")
        .addColumn("published_at", "bigint")
        .addColumn("sought_at", "bigint")
        .addPrimaryKeyConstraint("episodes_key", ["user_id", "id"])
        .execute();
      // Nothing refers to it.
      await sql`insert into episodes_rebuilt select * from episodes`.execute(db);
      await db.schema.dropTable("episodes").execute();
      await db.schema.alterTable("episodes_rebuilt").renameTo("episodes").execute();
      for (const [name, key] of [
        ["episodes_by_url", "url_key"],
        ["episodes_by_podcast", "guid_key"],
      ] as const) {
        await db.schema.createIndex(name).on("episodes").columns(["user_id", "podcast", key]).execute();
      }
    },
  };
}
