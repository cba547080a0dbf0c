// Imports and exports of subscription lists.

import type { Tx } from "../db/statement.ts";
import { type FeedUrl, readFeedUrl, takeFeedUrl } from "../domain/feed-url.ts";
import { readGuid } from "../domain/guid.ts";
import { statusOf } from "../domain/history.ts";
import type { OpmlFeed } from "../domain/opml.ts";
import { readTitle } from "../domain/title.ts";
import { findFeeds } from "../store/feeds.ts";
import { findGuids } from "../store/guids.ts";
import { columnOf, rowsOf } from "../store/rows.ts";
import { findSubscriptions, listSubscribed } from "../store/subscriptions.ts";
import { mapInTurns } from "../turns.ts";
import type { Actor } from "./actor.ts";
import type { Context } from "./context.ts";
import { addSubscriptions } from "./subscriptions.ts";

/** A feed of an import as people may see it: without its URL, which may hold a secret. */
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

/** A feed to import, with the guid that another server has for it. */
export interface NewFeed extends OpmlFeed {
  guid?: string | null;
}

/** Feeds that are added in one transaction. */
const BATCH = 500;

/**
 * Subscribes to feeds, in batches; a dry run has the same result and changes nothing.
 * @param progress called with how many feeds are done and how many there are
 */
export async function importFeeds(
  context: Context,
  actor: Actor,
  feeds: NewFeed[],
  { dry_run, progress }: { dry_run: boolean; progress: (done: number, all: number) => void },
): Promise<ImportResult> {
  const result: ImportResult = { added: [], present: [], failed: [] };
  const seen = new Set<string>();
  for (let start = 0; start < feeds.length; start += BATCH) {
    const batch = await mapInTurns(feeds.slice(start, start + BATCH), ({ feed_url: written, title, guid }) => {
      const feed_url = takeFeedUrl(written);
      return { feed_url, guid: readGuid(guid), feed: readFeedUrl(feed_url), title: readTitle(title, feed_url) };
    });
    const valid = batch.flatMap(({ feed }) => ("hash" in feed ? [feed] : []));
    const present = await context.database.read((tx) => findPresent(tx, actor.user_id, valid));
    for (const { title, feed_url, feed } of batch) {
      const shown = { title, host: URL.parse(feed_url)?.hostname || null };
      if ("message" in feed) result.failed.push({ ...shown, reason: feed.message });
      else if (present.has(feed.hash) || seen.has(feed.hash)) result.present.push(shown);
      else result.added.push(shown);
      if ("hash" in feed) seen.add(feed.hash);
    }
    // Also those that are present: adding one cancels a pending deletion.
    if (!dry_run) {
      await addSubscriptions(
        context,
        actor,
        batch.flatMap(({ feed, guid, title }) => ("hash" in feed ? [{ feed, guid, title }] : [])),
      );
    }
    progress(Math.min(start + BATCH, feeds.length), feeds.length);
  }
  return result;
}

/** Hashes of the feed URLs that the user is subscribed to. */
async function findPresent(tx: Tx, user_id: number, feeds: FeedUrl[]): Promise<Set<string>> {
  const guids = await findGuids(tx, { user_id }, rowsOf("guid", columnOf(feeds, "computed_guid")));
  const known = await findFeeds(tx, { user_id }, rowsOf("feed", columnOf(feeds, "hash")));
  const byGuid = new Map(guids.map((row) => [row.guid, row.subscription]));
  const byFeed = new Map(known.map((row) => [row.feed, row.subscription]));
  const ids = [...byFeed.values(), ...byGuid.values()];
  const rows = await findSubscriptions(tx, { user_id }, rowsOf("id", ids));
  const live = new Set(rows.filter((row) => statusOf(row) === "subscribed").map((row) => row.id));
  const found = ({ hash, computed_guid }: FeedUrl) => live.has(byFeed.get(hash) ?? byGuid.get(computed_guid) ?? -1);
  return new Set(feeds.filter(found).map(({ hash }) => hash));
}

/** The feeds that a user is subscribed to. */
export function exportFeeds({ database }: Context, { user_id }: Actor): Promise<OpmlFeed[]> {
  return database.read((tx) => listSubscribed(tx, { user_id }));
}
