// Bringing back an earlier list: subscribing again, splitting merged subscriptions, undoing moves.
import { type FeedUrl, readFeedUrl } from "./feed-url.ts";
import type { PastSubscription } from "./history.ts";
import {
  createSubscription,
  giveTitle,
  isCurrent,
  mergeSubscriptions,
  moveSubscription,
  subscribeAgain,
  unsubscribe,
} from "./subscription-rules.ts";
import type { SubscriptionState } from "./subscription-state.ts";
import type { WorkingSet } from "./working-set.ts";

/** A subscription of the earlier list. */
interface Wanted {
  past: PastSubscription;
  /** Null if this program refuses its feed URL, which an older one stored: it can only keep that. */
  feed: FeedUrl | null;
}

/** One that can move to its feed URL, or be created with it. */
type Movable = Wanted & { feed: FeedUrl };

export const isMovable = (one: Wanted): one is Movable => one.feed !== null;

/** The subscriptions that were subscribed. */
export function readWanted(then: Iterable<PastSubscription>): Wanted[] {
  return [...then]
    .filter(({ status }) => status === "subscribed")
    .map((past) => {
      const feed = readFeedUrl(past.feed_url);
      return { past, feed: "hash" in feed ? feed : null };
    });
}

/** Guids for a subscription that is split off again, the best first: its own, if no other one has it now. */
export function guidsFor({ past, feed }: Movable): string[] {
  const others = [0, 1, 2].map((number) => Bun.randomUUIDv5(`${feed.feed_url} ${number}`, past.guid));
  return [past.guid, feed.computed_guid, ...others];
}

/**
 * Subscribes again to what was subscribed. A subscription that was merged away since is split off again: its feed URL and
 * guid go to a new subscription. One that has moved since stays at its new feed URL, unless `exact`.
 * @param set has all of the user's subscriptions, the wanted feed URLs, and `guidsFor` those that are gone
 * @param exact unsubscribe what is not wanted, and give each wanted subscription the feed URL that it had
 */
export function restoreList(set: WorkingSet, wanted: Wanted[], exact: boolean): void {
  const kept = new Map<SubscriptionState, Wanted>();
  const gone: Movable[] = [];
  for (const one of wanted) {
    const subscription = set.byId(one.past.id);
    if (subscription) kept.set(subscription, one);
    else if (isMovable(one)) gone.push(one);
  }
  const ownerOf = (feed: FeedUrl) => {
    const owner = set.byFeed(feed.hash);
    return owner && isCurrent(owner, feed) ? owner : undefined;
  };
  const split = gone.filter((one) => {
    const owner = ownerOf(one.feed);
    // One that can't go back to its own feed URL stays there as this one.
    if (!owner || kept.get(owner)?.feed) return true;
    kept.set(owner, one);
    return false;
  });

  const moved = new Map<SubscriptionState, FeedUrl>();
  const merges: [from: SubscriptionState, into: SubscriptionState][] = [];
  // What is at a wanted feed URL leaves it: to where it was then, or into the subscription that gets the feed URL.
  const moveBack = (first: SubscriptionState | undefined) => {
    let into: SubscriptionState | null = null;
    for (let owner = first; owner; ) {
      const then = kept.get(owner);
      if (!then && into) merges.push([owner, into]);
      if (!then?.feed || moved.has(owner) || owner.feed_url === then.feed.feed_url) return;
      moved.set(owner, then.feed);
      into = owner;
      owner = ownerOf(then.feed);
    }
  };
  if (exact) for (const subscription of kept.keys()) moveBack(subscription);
  for (const { feed } of split) moveBack(ownerOf(feed));

  for (const [from, into] of merges) mergeSubscriptions(set, from, into);
  for (const subscription of kept.keys()) subscribeAgain(set, subscription);
  for (const [subscription, feed] of moved) moveSubscription(set, subscription, feed);
  const restored = new Set(kept.keys());
  for (const one of split) {
    const guid = guidsFor(one).find((candidate) => set.byGuid(candidate)?.guid !== candidate);
    if (guid === undefined) continue;
    const subscription = createSubscription(set, one.feed, guid);
    giveTitle(subscription, one.past.title);
    restored.add(subscription);
  }
  if (!exact) return;
  for (const subscription of set.all()) {
    if (!restored.has(subscription)) unsubscribe(set, subscription);
  }
}
