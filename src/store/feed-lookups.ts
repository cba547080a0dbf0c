// Statements on lookups of feeds, on who follows them, and on how far users' feeds are known to them.
import { type Kysely, sql } from "kysely";
import type { FeedLookupTable, Owner, Schema } from "../db/schema.ts";
import { bulkStatement, type LockMode, statement, type Tx, type ValuesOf } from "../db/statement.ts";
import { columnsOf } from "../db/tables.ts";
import { addRows, columnOf, PART, pick, saveRows } from "./rows.ts";

type Feed = { feed: string };

export const listWalks = statement((db, p: { after: number; last: number }) =>
  db
    .selectFrom("feed_walks")
    .select(columnsOf("feed_walks"))
    .where("user_id", ">", p.after)
    .where("user_id", "<=", p.last),
);

export const saveWalks = saveRows("feed_walks", []);

/** A user's subscriptions in the order of their changes after `since`. */
export const listChangedFeeds = statement((db, p: Owner & { since: number; limit: number }) =>
  db
    .selectFrom("subscriptions")
    .select(["id", "feed_url", "guid", "title", "is_subscribed", "deleted", "changed_at"])
    .where("user_id", "=", p.user_id)
    .where("changed_at", ">", p.since)
    .orderBy("changed_at")
    .limit(p.limit),
);

const lookups = (db: Kysely<Schema>) => db.selectFrom("feed_lookups").select(columnsOf("feed_lookups"));

export const findLookups = bulkStatement((db, _: Record<never, never>, rows: Feed[]) =>
  lookups(db).where("feed", "in", columnOf(rows, "feed")),
);

/** Inserts feeds that were never looked up; those that exist stay. */
export const insertLookups = bulkStatement(
  (db, _: Record<never, never>, rows: { feed: string; feed_url: string; next_at: number }[]) =>
    db
      .insertInto("feed_lookups")
      .values(
        rows.map(({ feed, feed_url, next_at }) => ({
          feed,
          feed_url,
          next_at,
          checked_at: null,
          etag: null,
          last_modified: null,
          title: null,
          guid: null,
          moved_to: null,
          moved_since: null,
          moved_seen: 0,
          failures: 0,
          failing_since: null,
          reason: null,
        })),
      )
      .onConflict((conflict) => conflict.column("feed").doNothing()),
);

export const insertFollowers = addRows("feed_followers", ["user_id"]);

/** The number of the lock: any that nothing else in the database has. */
const FOLLOWERS = 5_301_977;

/**
 * Locks who follows which feeds: shared before a transaction reads which feeds are known to add followers, exclusive before one
 * deletes feeds without any. Neither would see what the other has not committed.
 */
export const lockFollowers = async (tx: Tx, mode: LockMode): Promise<void> => void (await tx.lock?.(FOLLOWERS, mode));

/** Users who are, or were, subscribed to a feed, in the order of their ids. */
export const listFollowers = statement((db, p: { feed: string; after: number; limit: number }) =>
  db
    .selectFrom("feed_followers")
    .select("user_id")
    .where("feed", "=", p.feed)
    .where("user_id", ">", p.after)
    .orderBy("user_id")
    .limit(p.limit),
);

/** The subscriptions of these users that have a feed URL, or had it in any spelling, and are subscribed. @param p.hash its hash */
export const findSubscribers = bulkStatement((db, p: { hash: string }, rows: { user_id: number }[]) =>
  db
    .selectFrom("feeds")
    .innerJoin("subscriptions", (join) =>
      join.onRef("subscriptions.user_id", "=", "feeds.user_id").onRef("subscriptions.id", "=", "feeds.subscription"),
    )
    .select(["subscriptions.user_id", "subscriptions.id", "feed_url", "guid", "title"])
    .where("feeds.user_id", "in", columnOf(rows, "user_id"))
    // With `=` beside a join, SQLite prepares the statement at each execution.
    .where("feeds.feed", "in", [p.hash])
    .where("deleted", "is", null)
    .where("is_subscribed", "=", sql.lit(1)),
);

/** Feeds that are due, the longest first. */
export const listDueLookups = statement((db, p: { now: number; limit: number }) =>
  lookups(db).where("next_at", "<=", p.now).orderBy("next_at").limit(p.limit),
);

/** Feeds whose time is farther ahead than any pause, because the clock was wrong. */
export const listFarLookups = statement((db, p: { horizon: number; limit: number }) =>
  lookups(db).where("next_at", ">", p.horizon).orderBy("next_at").limit(p.limit),
);

/** Moves a feed's next time. Returns the feed only to the first caller that moves it from `from`. */
export const postponeLookup = statement((db, p: { feed: string; from: number; next_at: number }) =>
  db
    .updateTable("feed_lookups")
    .set({ next_at: p.next_at })
    .where("feed", "=", p.feed)
    .where("next_at", "=", p.from)
    .returning("feed"),
);

export const saveLookup = statement((db, p: ValuesOf<FeedLookupTable>) =>
  db
    .updateTable("feed_lookups")
    .set(
      pick(
        p,
        columnsOf("feed_lookups").filter((column) => column !== "feed"),
      ),
    )
    .where("feed", "=", p.feed),
);

const deleteLookup = statement((db, p: Feed) => db.deleteFrom("feed_lookups").where("feed", "=", p.feed));
const deleteFollowers = statement((db, p: Feed) => db.deleteFrom("feed_followers").where("feed", "=", p.feed));

/** Has the walk read these users' feeds again. */
export const deleteWalks = bulkStatement((db, _: Record<never, never>, rows: { user_id: number }[]) =>
  db.deleteFrom("feed_walks").where("user_id", "in", columnOf(rows, "user_id")),
);

/** Deletes what is known of a feed. */
export async function forgetFeed(tx: Tx, feed: Feed): Promise<void> {
  await deleteLookup(tx, feed);
  await deleteFollowers(tx, feed);
}

const listFollowed = statement((db, p: Owner) =>
  db.selectFrom("feed_followers").select("feed").where("user_id", "=", p.user_id).limit(sql.lit(PART)),
);

const deleteOwnLookups = bulkStatement((db, p: Owner, rows: Feed[]) => {
  const feeds = columnOf(rows, "feed");
  const others = db.selectFrom("feed_followers").select("feed").where("feed", "in", feeds);
  return db
    .deleteFrom("feed_lookups")
    .where("feed", "in", feeds)
    .where("feed", "not in", others.where("user_id", "<>", p.user_id));
});

const unfollow = bulkStatement((db, p: Owner, rows: Feed[]) =>
  db.deleteFrom("feed_followers").where("feed", "in", columnOf(rows, "feed")).where("user_id", "=", p.user_id),
);

/**
 * Ends that a user follows some feeds, and deletes what is known of those that no other user follows: a feed URL can hold a
 * secret. @returns whether more may be left
 */
export async function unfollowSome(tx: Tx, owner: Owner): Promise<boolean> {
  await lockFollowers(tx, "exclusive");
  const feeds = await listFollowed(tx, owner);
  await deleteOwnLookups(tx, owner, feeds);
  await unfollow(tx, owner, feeds);
  return feeds.length === PART;
}

/** How many feeds are known, how many of them were looked at, and how many fail. */
export const countLookups = statement((db) =>
  db
    .selectFrom("feed_lookups")
    .select((row) => [
      row.fn.countAll<number>().as("known"),
      row.fn.count<number>("checked_at").as("checked"),
      row.fn.count<number>("failing_since").as("failing"),
    ]),
);

/** Feeds that have failed since before a time, the longest first. */
export const listFailing = statement((db, p: { before: number }) =>
  db
    .selectFrom("feed_lookups")
    .select(["feed_url", "failing_since", "reason"])
    .where("failing_since", "<", p.before)
    .orderBy("failing_since"),
);
