// Lookups are kept by the feed URL as it is spelled, no longer by the hash that all its spellings share.
import type { Kysely, Migration } from "kysely";

interface Tables {
  feed_lookups: { feed: string; feed_url: string };
  feed_followers: { feed: string; user_id: string };
  feed_walks: { user_id: string; clock: number };
}

const PIECE = 500;

export const keyLookupsBySpelling: Migration = {
  async up(db: Kysely<Tables>) {
    for (let after: string | undefined = ""; after !== undefined; ) {
      const rows: Tables["feed_lookups"][] = await db
        .selectFrom("feed_lookups")
        .select(["feed", "feed_url"])
        .where("feed", ">", after)
        .orderBy("feed")
        .limit(PIECE)
        .execute();
      for (const row of rows) {
        const feed = Bun.SHA256.hash(row.feed_url, "hex");
        // Read again under its new key.
        if (feed === row.feed) continue;
        await db.updateTable("feed_lookups").set({ feed }).where("feed", "=", row.feed).execute();
        await db.updateTable("feed_followers").set({ feed }).where("feed", "=", row.feed).execute();
      }
      after = rows.length < PIECE ? undefined : rows.at(-1)?.feed;
    }
    // The next walk finds the spellings that shared a lookup with another one.
    await db.deleteFrom("feed_walks").execute();
  },
};
