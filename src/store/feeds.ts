// Statements on the feed URLs that subscriptions have or had.
import { sql } from "kysely";
import type { FeedTable, Owner } from "../db/schema.ts";
import { bulkStatement, limitTo, statement, type Tx } from "../db/statement.ts";
import { HIGHEST, numbersOf, readRows, saveRows } from "./rows.ts";

type Found = Pick<FeedTable, "feed" | "subscription" | "left_url" | "left_at">;

/** Of a list, SQLite would make a sorted copy first. */
export const findFeeds = bulkStatement(
  (_, p: Owner, rows: { feed: string }[]) =>
    sql<Found>`select feed, subscription, left_url, left_at
      from (values ${sql.join(rows.map((row) => sql`(${row.feed})`))}) as wanted
      cross join feeds
      where user_id in (${p.user_id}) and feed = wanted.column1`,
);

/** The feed URLs that these subscriptions left. Of a list, SQLite would read all of the user's instead. */
export const listLeftFeedsOf = bulkStatement(
  (_, p: Owner, rows: { id: number }[]) =>
    sql<Found>`select feed, subscription, left_url, left_at
      from (values ${numbersOf(rows, ["id"])}) as wanted
      cross join feeds
      where user_id in (${p.user_id}) and subscription = wanted.column1 and left_at is not null`,
);

type LeftPlace = { left_at: number | null; feed: string };

const listLeftAfter = statement((db, p: Owner & LeftPlace & { limit: number }) =>
  db
    .selectFrom("feeds")
    .select(["feed", "left_url", "left_at"])
    .where("user_id", "in", [p.user_id])
    .where("left_at", "is not", null)
    .where(sql<boolean>`(left_at, feed) > (${p.left_at}, ${p.feed})`)
    .where("left_at", "<=", HIGHEST)
    .orderBy("left_at")
    .orderBy("feed")
    .limit(limitTo(p.limit)),
);

/** Feed URLs that a subscription left after `start`. */
export const listLeft = (tx: Tx, { user_id, start }: Owner & { start: number }) =>
  readRows<LeftPlace, Omit<Found, "subscription">>(
    { left_at: start + 1, feed: "" },
    (place, limit) => listLeftAfter(tx, { user_id, ...place, limit }),
    ({ left_at, feed }) => ({ left_at, feed }),
  );

/** Inserts feed URLs. Those that exist get all new fields. */
export const saveFeeds = saveRows("feeds", ["user_id"]);
