// What the reports of a device are compared with: feeds as they are listed, and as they were.
import { currentListing, type Holdings, isListed, type Listing, leftListing } from "../../domain/device-list.ts";
import { type FeedUrl, hashFeedUrl } from "../../domain/feed-url.ts";
import type { Habits } from "../../domain/habits.ts";
import { isSubscribed, statusOf, undoChanges, type What } from "../../domain/history.ts";
import { addedIn, isReversed, type Known, type Report } from "../../domain/reports.ts";
import { knowledgeOf, type Millis } from "../../domain/sync-window.ts";
import type { WorkingSet } from "../../domain/working-set.ts";
import { findHoldings } from "../../store/holdings.ts";
import { columnOf, rowsOf } from "../../store/rows.ts";
import { mapInTurns } from "../../turns.ts";
import type { UserTx } from "../transact.ts";
import type { ClientCursor } from "./client-cursor.ts";
import { holdingsIn, readSpellings } from "./device-list.ts";
import { LaterChanges } from "./later-changes.ts";

/**
 * Reads what reports are compared with.
 * @param read what changed after the client knew the list, as far as that was read before the transaction
 * @param feeds of the reports, by hash
 * @throws ManyChanges
 */
export async function readKnown(
  user: UserTx,
  { cursor, habits, read }: { cursor: ClientCursor; habits: Habits; read: LaterChanges | null },
  reports: Report[],
  set: WorkingSet,
  feeds: ReadonlyMap<string, FeedUrl>,
): Promise<Known> {
  const { tx, user_id } = user;
  const { client, last, listReadAt } = cursor;
  const listings = await listingsIn(set, feeds.keys());
  const leadsTo = (feed: string) => (set.byFeed(feed) ?? set.byGuid(feeds.get(feed)?.computed_guid ?? ""))?.id;
  const asked = rowsOf("feed", feeds.keys());
  const holdings = await holdingsIn(client ? await findHoldings(tx, { user_id, client: client.id }, asked) : []);
  const { knewUntil, toldUntil, comparedAt, unobeyedAfter } = knowledgeOf(last, listReadAt, habits);
  const isCompared = client && comparedAt !== null;
  const reversed = isCompared ? reports.filter((one) => isReversed(one, { listings, knewUntil })) : [];
  const left = reports.filter((one) => unobeyedAfter.some((after) => isLeft(one, listings.get(one.feed), after)));
  // Only for these the past is read: it may be long.
  const isRead = left.length > 0 || reversed.length > 0;
  const later = isRead ? await LaterChanges.find(user, comparedAt ?? toldUntil, read) : null;
  return {
    listings,
    last,
    toldUntil,
    knewUntil,
    clock: user.clock(),
    habits,
    leadsTo,
    added: addedIn(reports, leadsTo),
    moved: new Set(unobeyedAfter.flatMap((after) => findMoved(set, left, holdings, later, after))),
    holdings,
    wasListed: pastOf(set, reversed, later),
    spellings: await readSpellings(tx, user_id, cursor, feeds.keys()),
  };
}

/** Whether a report removes a feed that its subscription has left after a time. */
const isLeft = ({ subscribed }: Report, listing: Listing | undefined, after: Millis): boolean =>
  !subscribed && listing?.state === "left" && listing.changed > after;

/**
 * Finds the feeds that subscribed podcasts have left after a time. One that was merged or removed in between is another
 * podcast, or another decision; one that the client has reported as removed since, it reports again.
 */
function findMoved(
  set: WorkingSet,
  left: Report[],
  holdings: Holdings,
  later: LaterChanges | null,
  after: Millis,
): string[] {
  if (left.length === 0 || later === null) return [];
  const hasMoved = ({ feed }: Report) => {
    const subscription = set.byFeed(feed);
    if (!subscription || !isSubscribed(subscription)) return false;
    const holding = holdings.get(feed);
    if (holding?.reported === false && (holding.reported_at ?? 0) > after) return false;
    const own = later.of(subscription.id).filter(({ changed_at }) => changed_at > after);
    const first = own.findLast(({ what }) => what === "moved");
    return own.every(({ what }) => ADDRESS.has(what)) && hashFeedUrl(first?.before ?? "") === feed;
  };
  return left.filter(hasMoved).map(({ feed }) => feed);
}

/** Changes of what a subscription is called, and not of whether it is subscribed. */
const ADDRESS = new Set<What>(["moved", "guid_replaced", "guid_added"]);

/** Whether feeds were on the list before the changes, as far as they were the user's then. */
function pastOf(set: WorkingSet, reports: Report[], later: LaterChanges | null): Map<string, boolean> {
  const listed = new Map<string, boolean>();
  if (reports.length === 0 || later === null) return listed;
  const states = reports.flatMap(({ feed }) => set.byFeed(feed) ?? []);
  const past = undoChanges(
    states.map((one) => ({ ...one, status: statusOf(one) })),
    later.ofAll(columnOf(states, "id"), columnOf(reports, "feed")),
  );
  const byUrl = new Map([...past.values()].map((one) => [hashFeedUrl(one.feed_url), one]));
  for (const { feed } of reports) {
    const one = byUrl.get(feed);
    // What leads to a subscription that had another URL then was not on the list.
    if (one || past.has(set.byFeed(feed)?.id ?? 0)) listed.set(feed, one?.status === "subscribed");
  }
  return listed;
}

/** The listings of feeds that are known. */
export async function listingsIn(set: WorkingSet, feeds: Iterable<string>): Promise<Map<string, Listing>> {
  const listings = new Map<string, Listing>();
  await mapInTurns(feeds, (feed) => {
    const subscription = set.byFeed(feed);
    if (!subscription) return;
    const current = currentListing(feed, subscription);
    if (hashFeedUrl(subscription.feed_url) === feed) {
      listings.set(feed, current);
    } else {
      const { left_url, left_at } = set.leftBefore(feed) ?? {};
      // Who adds it means the subscription, and may not know that this was removed since.
      const removed_at = isListed(current) ? 0 : current.changed;
      listings.set(feed, leftListing(feed, left_url, Math.max(left_at ?? 0, removed_at)));
    }
  });
  return listings;
}
