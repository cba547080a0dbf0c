// Statements on the feed URLs that subscriptions have or had.
import type { FeedTable, Owner } from "../db/schema.ts";
import { bulkStatement, statement } from "../db/statement.ts";

export const findFeeds = bulkStatement((db, p: Owner, rows: { feed: string }[]) =>
  db
    .selectFrom("feeds")
    .select(["feed", "subscription", "left_url", "left_at"])
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
    .select(["feed", "subscription", "left_url", "left_at"])
    .where("user_id", "=", p.user_id)
    .where(
      "subscription",
      "in",
      rows.map((row) => row.id),
    ),
);

/** Feed URLs that a subscription left after `start`. */
export const listLeft = statement((db, p: Owner & { start: number }) =>
  db
    .selectFrom("feeds")
    .select(["feed", "left_url", "left_at"])
    .where("user_id", "=", p.user_id)
    .where("left_at", ">", p.start),
);

/** Inserts feed URLs. Those that exist get all new fields. */
export const saveFeeds = bulkStatement((db, p: Owner, rows: Omit<FeedTable, "user_id">[]) =>
  db
    .insertInto("feeds")
    .values(
      rows.map((row) => ({
        user_id: p.user_id,
        feed: row.feed,
        subscription: row.subscription,
        left_url: row.left_url,
        left_at: row.left_at,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(["user_id", "feed"]).doUpdateSet((row) => ({
        subscription: row.ref("excluded.subscription"),
        left_url: row.ref("excluded.left_url"),
        left_at: row.ref("excluded.left_at"),
      })),
    ),
);
