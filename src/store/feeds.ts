// Statements on the feed URLs that subscriptions have or had.
import type { FeedTable, Owner } from "../db/schema.ts";
import { bulkStatement } from "../db/statement.ts";

export const findFeeds = bulkStatement((db, p: Owner, rows: { feed: string }[]) =>
  db
    .selectFrom("feeds")
    .select(["feed", "subscription"])
    .where("user_id", "=", p.user_id)
    .where(
      "feed",
      "in",
      rows.map((row) => row.feed),
    ),
);

/** All feed URLs of these subscriptions, former ones too. */
export const listFeedsOf = bulkStatement((db, p: Owner, rows: { id: number }[]) =>
  db
    .selectFrom("feeds")
    .select(["feed", "subscription"])
    .where("user_id", "=", p.user_id)
    .where(
      "subscription",
      "in",
      rows.map((row) => row.id),
    ),
);

/** Inserts feed URLs. Those that exist get the new subscription. */
export const saveFeeds = bulkStatement((db, p: Owner, rows: Omit<FeedTable, "user_id">[]) =>
  db
    .insertInto("feeds")
    .values(rows.map((row) => ({ user_id: p.user_id, feed: row.feed, subscription: row.subscription })))
    .onConflict((conflict) =>
      conflict.columns(["user_id", "feed"]).doUpdateSet((row) => ({ subscription: row.ref("excluded.subscription") })),
    ),
);
