// What lookups know of feeds.
import type { FeedLookupTable } from "../../db/schema.ts";
import { isSubscribed } from "../../domain/history.ts";
import { lookupKey } from "../../domain/lookup-rules.ts";
import { findLookups, listFailing } from "../../store/feed-lookups.ts";
import { findGuids } from "../../store/guids.ts";
import { listSubscriptions } from "../../store/subscriptions.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";

/** Waiting for the first lookup, read at the last one, said to have moved, or failing. */
type FeedState = "waiting" | "read" | "moving" | "failing";

/** The feed of a subscription; times are Unix milliseconds. */
export interface Feed {
  /** Those of the subscription. */
  feed_url: string;
  title: string | null;
  guid: string;
  state: FeedState;
  /** Why it fails, or why what it says was not taken. */
  reason: string | null;
  checked_at: number | null;
  /** When it is looked up next; null if no server has seen it yet. */
  next_at: number | null;
  failing_since: number | null;
  /** What the feed says of itself. */
  feed_title: string | null;
  feed_guid: string | null;
  moved_to: string | null;
  moved_since: number | null;
}

/** The feeds that a user is subscribed to. */
export function listFeeds({ database }: Pick<Context, "database">, { user_id }: Actor): Promise<Feed[]> {
  return database.read(async (tx) => {
    const subscriptions = (await listSubscriptions(tx, { user_id }))
      .filter(isSubscribed)
      .map((row) => ({ ...row, feed: lookupKey(row.feed_url) }));
    const lookups = new Map((await findLookups(tx, {}, subscriptions)).map((row) => [row.feed, row]));
    const claimed = [...lookups.values()].flatMap(({ guid }) => (guid === null ? [] : [{ guid }]));
    const owners = new Map((await findGuids(tx, { user_id }, claimed)).map((row) => [row.guid, row.subscription]));
    return subscriptions.map(({ id, feed_url, title, guid, feed }) => {
      const lookup = lookups.get(feed);
      const owner = owners.get(lookup?.guid ?? "");
      const taken = owner !== undefined && owner !== id ? "another podcast has the feed's guid" : null;
      return {
        feed_url,
        title,
        guid,
        state: stateOf(lookup),
        reason: lookup?.reason ?? taken,
        checked_at: lookup?.checked_at ?? null,
        next_at: lookup?.next_at ?? null,
        failing_since: lookup?.failing_since ?? null,
        feed_title: lookup?.title ?? null,
        feed_guid: lookup?.guid ?? null,
        moved_to: lookup?.moved_to ?? null,
        moved_since: lookup?.moved_since ?? null,
      };
    });
  });
}

function stateOf(lookup: FeedLookupTable | undefined): FeedState {
  if (!lookup || lookup.checked_at === null) return "waiting";
  if (lookup.failing_since !== null) return "failing";
  return lookup.moved_to === null ? "read" : "moving";
}

/** All users' feeds that have failed since before a time in Unix milliseconds, the longest first. */
export function listFailingFeeds({ database }: Pick<Context, "database">, before: number) {
  return database.read((tx) => listFailing(tx, { before }));
}
