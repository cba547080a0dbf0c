// What the reports of a device are compared with: feeds as they are listed, and as they were.
import { currentListing, type Listing, leftListing } from "../domain/device-list.ts";
import { hashFeedUrl } from "../domain/feed-url.ts";
import { type Change, statusOf, undoChanges } from "../domain/history.ts";
import type { Report } from "../domain/reports.ts";
import type { Millis } from "../domain/sync-window.ts";
import type { WorkingSet } from "../domain/working-set.ts";
import { listChangesFrom } from "../store/history.ts";
import { mapInTurns } from "../turns.ts";
import type { UserTx } from "./transact.ts";

/** What changed after a time, newest first. */
export interface LaterChanges {
  after: Millis;
  /** The user's clock when they were read. */
  clock: Millis;
  changes: Change[];
}

/** Reads what changed after a time. @param read what an earlier part of the upload has read, which is not read again */
export async function readLater(user: UserTx, after: Millis, read: LaterChanges | null): Promise<LaterChanges> {
  const known = read?.after === after ? read : { clock: after, changes: [] };
  const news = await listChangesFrom(user.tx, { user_id: user.user_id, from: known.clock + 1 });
  return { after, clock: user.clock(), changes: [...news, ...known.changes] };
}

/** Whether feeds were on the list before the changes, as far as they were the user's then. */
export function pastOf(set: WorkingSet, reports: Report[], later: LaterChanges | null): Map<string, boolean> {
  const listed = new Map<string, boolean>();
  if (reports.length === 0 || later === null) return listed;
  const states = reports.flatMap(({ feed }) => set.byFeed(feed) ?? []);
  const past = undoChanges(
    states.map((one) => ({ ...one, status: statusOf(one) })),
    later.changes,
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
    if (hashFeedUrl(subscription.feed_url) === feed) {
      listings.set(feed, currentListing(feed, subscription));
    } else {
      const { left_url, left_at } = set.leaving(feed) ?? {};
      listings.set(feed, leftListing(feed, left_url, left_at));
    }
  });
  return listings;
}
