// What the reports of a device are compared with: feeds as they are listed, and as they were.
import type { Listing } from "../domain/device-list.ts";
import { hashFeedUrl } from "../domain/feed-url.ts";
import { statusOf, undoChanges } from "../domain/history.ts";
import type { Report } from "../domain/reports.ts";
import type { Millis } from "../domain/sync-window.ts";
import type { WorkingSet } from "../domain/working-set.ts";
import { listChangesFrom } from "../store/history.ts";
import { mapInTurns } from "../turns.ts";
import { currentListing, leftListing } from "./device-list.ts";
import type { UserTx } from "./transact.ts";

/** Whether feeds were on the list when the client knew it last, as far as they were the user's then. */
export async function readPast(
  { tx, user_id }: UserTx,
  set: WorkingSet,
  reports: Report[],
  until: Millis | null,
): Promise<Map<string, boolean>> {
  const listed = new Map<string, boolean>();
  if (reports.length === 0 || until === null) return listed;
  const changes = await listChangesFrom(tx, { user_id, from: until + 1 });
  const states = reports.flatMap(({ feed }) => set.byFeed(feed) ?? []);
  const past = undoChanges(
    states.map((one) => ({ ...one, status: statusOf(one) })),
    changes,
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
