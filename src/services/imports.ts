// Subscription lists in and out: what an import adds, and what an export holds.
import type { Tx } from "../db/statement.ts";
import { type Feed, readFeed } from "../domain/feed-url.ts";
import type { OpmlFeed } from "../domain/opml.ts";
import { findFeeds } from "../store/feeds.ts";
import { findGuids } from "../store/guids.ts";
import { findSubscriptions, listSubscribed } from "../store/subscriptions.ts";
import type { Context } from "./context.ts";
import { addSubscriptions } from "./subscriptions.ts";

/** A feed of an import as people may see it: without its address, which may hold a secret. */
export interface ImportedFeed {
  title: string | null;
  host: string | null;
}

export interface ImportResult {
  added: ImportedFeed[];
  /** Subscribed before, or twice in the list. */
  present: ImportedFeed[];
  failed: (ImportedFeed & { reason: string })[];
}

/** Feeds that are added in one transaction. */
const PIECE = 500;

/**
 * Subscribes to feeds, in pieces; a dry run tells the same and changes nothing.
 * @param progress called with how many feeds are done and how many there are
 */
export async function importFeeds(
  context: Context,
  user_id: string,
  feeds: OpmlFeed[],
  { dry_run, progress }: { dry_run: boolean; progress: (done: number, all: number) => void },
): Promise<ImportResult> {
  const result: ImportResult = { added: [], present: [], failed: [] };
  const seen = new Set<string>();
  const size = Math.min(PIECE, context.config.max_items);
  for (let start = 0; start < feeds.length; start += size) {
    const piece = feeds.slice(start, start + size).map((one) => ({ ...one, feed: readFeed(one.feed_url) }));
    const valid = piece.flatMap(({ feed }) => ("feed" in feed ? [feed] : []));
    const present = await context.database.read((tx) => findPresent(tx, user_id, valid));
    for (const { title, feed_url, feed } of piece) {
      const shown = { title, host: URL.parse(feed_url)?.hostname || null };
      if ("message" in feed) result.failed.push({ ...shown, reason: feed.message });
      else if (present.has(feed.feed) || seen.has(feed.feed)) result.present.push(shown);
      else result.added.push(shown);
      if ("feed" in feed) seen.add(feed.feed);
    }
    // Those that are there already go along: adding one calls off a deletion that is pending.
    if (!dry_run)
      await addSubscriptions(context, user_id, { subscriptions: valid.map(({ feed_url }) => ({ feed_url })) });
    progress(Math.min(start + size, feeds.length), feeds.length);
  }
  return result;
}

/** Which of the feeds, by the hash of their key, the listener is subscribed to. */
async function findPresent(tx: Tx, user_id: string, feeds: Feed[]): Promise<Set<string>> {
  const byFeed = new Map<string, number>();
  const guids = await findGuids(
    tx,
    { user_id },
    feeds.map((feed) => ({ guid: feed.computed_guid })),
  );
  const byGuid = new Map(guids.map((row) => [row.guid, row.subscription]));
  for (const row of await findFeeds(tx, { user_id }, feeds)) byFeed.set(row.feed, row.subscription);
  const ids = [...new Set([...byFeed.values(), ...byGuid.values()])];
  const rows = await findSubscriptions(
    tx,
    { user_id },
    ids.map((id) => ({ id })),
  );
  const live = new Set(rows.filter((row) => row.deleted === null && row.is_subscribed === 1).map((row) => row.id));
  const found = ({ feed, computed_guid }: Feed) => live.has(byFeed.get(feed) ?? byGuid.get(computed_guid) ?? -1);
  return new Set(feeds.filter(found).map(({ feed }) => feed));
}

/** The feeds that a listener is subscribed to; titles are not kept. */
export async function exportFeeds({ database }: Context, user_id: string): Promise<OpmlFeed[]> {
  const rows = await database.read((tx) => listSubscribed(tx, { user_id }));
  return rows.map(({ feed_url }) => ({ feed_url, title: null }));
}
