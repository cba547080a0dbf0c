// Imports and exports of subscription lists.
import { readFeedUrl, reasonOfRefusal, takeFeedUrl } from "../../domain/feed-url.ts";
import { readGuid } from "../../domain/guid.ts";
import { isSubscribed } from "../../domain/history.ts";
import type { OpmlFeed } from "../../domain/opml.ts";
import { readTitle } from "../../domain/title.ts";
import { parseUrl } from "../../domain/url.ts";
import type { WorkingSet } from "../../domain/working-set.ts";
import { listSubscribed } from "../../store/subscriptions.ts";
import { mapInTurns } from "../../turns.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import { asPart, inParts } from "../parts.ts";
import { addSubscription, type NewSubscription, wantedFor } from "./subscriptions.ts";
import { changeSubscriptions, type Rehearsal } from "./working-set.ts";

/** A feed of an import as people may see it: without its URL, which may hold a secret. */
export interface ImportedFeed {
  title: string | null;
  host: string | null;
}

export const withoutUrl = ({ feed_url, title }: { feed_url: string; title: string | null }): ImportedFeed => ({
  title,
  host: parseUrl(feed_url)?.hostname || null,
});

export interface ImportResult {
  added: ImportedFeed[];
  /** Subscribed before, or by an earlier entry of the list. */
  present: ImportedFeed[];
  failed: (ImportedFeed & { reason: string })[];
}

/** A feed to import, with the guid that another server has for it. */
interface NewFeed extends OpmlFeed {
  guid?: string | null;
}

/**
 * Subscribes to feeds, some in each transaction; a dry run has the same result and changes nothing.
 * @param progress called with how many feeds are done and how many there are
 */
export async function importFeeds(
  context: Context,
  actor: Actor,
  feeds: NewFeed[],
  { dry_run, progress = () => {} }: Rehearsal & { progress?: (done: number, all: number) => void },
): Promise<ImportResult> {
  const result: ImportResult = { added: [], present: [], failed: [] };
  const read = await mapInTurns(feeds, ({ feed_url: written, title: named, guid }) => {
    const feed_url = takeFeedUrl(written);
    const [feed, title] = [readFeedUrl(feed_url), readTitle(named, feed_url)];
    return { feed, guid: readGuid(guid), title, shown: withoutUrl({ feed_url, title }) };
  });
  const valid = read.flatMap(({ feed, shown, ...rest }) => {
    if ("hash" in feed) return [{ feed, shown, ...rest }];
    result.failed.push({ ...shown, reason: reasonOfRefusal(feed) });
    return [];
  });
  let done = result.failed.length;
  // A dry run takes all at once: no part would find what the one before it adds.
  for (const part of dry_run ? [valid] : await inParts(valid, ({ feed }) => feed.feed_url)) {
    const change = (set: WorkingSet) =>
      part.map((item) => {
        const wasPresent = isPresent(set, item);
        addSubscription(set, item);
        return wasPresent;
      });
    const changing = changeSubscriptions(context, actor, wantedFor(part), change, { dry_run });
    const { result: present } = await asPart(changing, result.added.length === 0);
    for (const [index, { shown }] of part.entries()) (present[index] ? result.present : result.added).push(shown);
    done += part.length;
    progress(done, feeds.length);
  }
  return result;
}

/** Whether adding a feed finds it subscribed: with a guid, by either of the two, which become one. */
function isPresent(set: WorkingSet, { feed, guid }: NewSubscription): boolean {
  const byFeed = set.byFeed(feed.hash);
  const byGuid = set.byGuid(guid ?? feed.computed_guid);
  const found = guid === null ? [byFeed ?? byGuid] : [byFeed, byGuid];
  return found.some((one) => one && isSubscribed(one));
}

/** The feeds that a user is subscribed to. */
export async function exportFeeds({ database }: Context, { user_id }: Actor): Promise<OpmlFeed[]> {
  const rows = await database.read((tx) => listSubscribed(tx, { user_id }));
  return rows.map(({ feed_url, title }) => ({ feed_url, title }));
}
