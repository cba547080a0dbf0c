// The subscriptions that a feed's lookup is for.
import type { Database } from "../db/database.ts";
import type { FeedLookupTable } from "../db/schema.ts";
import { hashFeedUrl, readFeedHash } from "../domain/feed-url.ts";
import {
  applyFinding,
  type Finding,
  type LookedUp,
  lookupKey,
  mayChange,
  type Outcome,
} from "../domain/lookup-rules.ts";
import { unlessRefused } from "../errors.ts";
import { actAsWorker } from "../services/actor.ts";
import { type ChangeContext, loadWorkingSet, saveWorkingSet } from "../services/subscriptions/working-set.ts";
import { transact, type UserTx } from "../services/transact.ts";
import { findSubscribers, listFollowers } from "../store/feed-lookups.ts";
import { listLeftFeedsOf } from "../store/feeds.ts";
import { HISTORY_END, listMoves, spansBefore } from "../store/history.ts";

/** Who changed it, in the history. */
const LABEL = "feed lookup";
/** Users at a time. */
const PAGE = 100;

interface Subscriber extends LookedUp {
  user_id: number;
  /** The subscription's id. */
  id: number;
}

/** A database, or a transaction on it. */
type Source = Pick<Database, "read">;

/** Who may be subscribed to a feed, in pages. @param feed key of its lookup */
export async function* walkFollowers(source: Source, feed: string): AsyncGenerator<{ user_id: number }[]> {
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page: Parameters<typeof listFollowers>[1] = { feed, after, limit: PAGE };
    const users = await source.read((tx) => listFollowers(tx, page));
    yield users;
    after = users.length < PAGE ? undefined : users.at(-1)?.user_id;
  }
}

/** The subscriptions with exactly this feed URL, in pages that are not empty. */
export async function* walkSubscribers(source: Source, feed_url: string): AsyncGenerator<Subscriber[]> {
  const hash = hashFeedUrl(feed_url);
  for await (const users of walkFollowers(source, lookupKey(feed_url))) {
    const rows = await source.read((tx) => findSubscribers(tx, { hash }, users));
    // Not those that have another spelling, or had the feed once.
    const subscribers = rows.filter((row) => row.feed_url === feed_url);
    if (subscribers.length > 0) yield subscribers;
  }
}

/** Whether anybody is subscribed to exactly this feed URL. */
export async function hasSubscribers(source: Source, feed_url: string): Promise<boolean> {
  return !(await walkSubscribers(source, feed_url).next()).done;
}

/** Changes a subscription by what its feed says, if there is anything to change. @returns null if it was left alone */
export async function giveFinding(
  context: ChangeContext,
  subscriber: Subscriber,
  finding: Finding,
): Promise<Outcome | null> {
  if (!mayChange(subscriber, finding)) return null;
  const { user_id, id } = subscriber;
  const wanted = {
    ids: [id],
    guids: [finding.guid, finding.target?.guid].flatMap((guid) => guid ?? []),
    feeds: finding.target ? [finding.target.feed.hash] : [],
  };
  const giving = transact(context, actAsWorker(user_id, LABEL), async (user) => {
    const set = await loadWorkingSet(user, wanted);
    const subscription = set.byId(id);
    // It may have changed since it was read; a deletion is not to be cancelled by a merge.
    if (!subscription?.is_subscribed || set.hasPendingDeletion(subscription)) return null;
    if (subscription.feed_url !== finding.feed_url) return null;
    const feeds = await listLeftFeedsOf(user.tx, { user_id }, [{ id }]);
    const former = feeds.flatMap(({ left_url }) => left_url ?? []);
    const hasLeft = feeds.some(({ feed }) => feed === finding.target?.feed.hash);
    const stays = hasLeft && (await wasMovedBack(user, id, finding.target));
    const outcome = applyFinding(set, subscription, stays ? { ...finding, target: null } : finding, former);
    await saveWorkingSet(user, set, context);
    return outcome;
  });
  // The user may have been deleted.
  return unlessRefused(giving, "unauthorized");
}

/** Whether a subscription moved last from where its feed says that it moved, and not by a lookup. */
async function wasMovedBack(
  { tx, user_id }: UserTx,
  subscription: number,
  target: Finding["target"],
): Promise<boolean> {
  for await (const span of spansBefore(tx, { user_id, ...HISTORY_END })) {
    const [move] = await listMoves(tx, { ...span, subscription, limit: 1 });
    if (move) return move.actor_kind !== "worker" && readFeedHash(move.before ?? "") === target?.feed.hash;
  }
  return false;
}

/** What was found at the last lookup. */
export const knownFinding = ({ feed_url, title, guid }: FeedLookupTable): Finding => ({
  feed_url,
  title,
  guid,
  former_title: title,
  target: null,
});
