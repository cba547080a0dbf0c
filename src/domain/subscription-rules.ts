// The rules by which a user's subscriptions change (P3 to P5).
import { type FeedUrl, readFeedHash } from "./feed-url.ts";
import type { SubscriptionState } from "./subscription-state.ts";
import type { WorkingSet } from "./working-set.ts";

/** Adds a feed as POST does. @param guid the guid that was sent; null if none was */
export function addFeed(set: WorkingSet, feed: FeedUrl, guid: string | null): SubscriptionState {
  const byFeed = set.byFeed(feed.hash);
  const byGuid = set.byGuid(guid ?? feed.computed_guid);
  if (guid === null) {
    const found = byFeed ?? byGuid;
    if (!found) return createSubscription(set, feed, feed.computed_guid);
    subscribeAgain(set, found, feed);
    return found;
  }
  if (byGuid) {
    if (byFeed && byFeed !== byGuid) mergeSubscriptions(set, byFeed, byGuid);
    subscribeAgain(set, byGuid, feed);
    if (byFeed !== byGuid) moveSubscription(set, byGuid, feed);
    return byGuid;
  }
  if (!byFeed) return createSubscription(set, feed, guid);
  if (byFeed.deleted !== null || isCurrent(byFeed, feed)) replaceGuid(set, byFeed, guid);
  else retireGuid(set, byFeed, guid);
  subscribeAgain(set, byFeed, feed);
  return byFeed;
}

/**
 * Applies PATCH's new_guid.
 * @param path the guid in the request's path
 * @returns the subscription that the path means afterwards
 */
export function changeGuid(
  set: WorkingSet,
  subscription: SubscriptionState,
  path: string,
  guid: string,
): SubscriptionState {
  if (guid === subscription.guid) return subscription;
  const other = set.byGuid(guid);
  if (!other) {
    replaceGuid(set, subscription, guid);
    return subscription;
  }
  if (other !== subscription) {
    mergeSubscriptions(set, subscription, other);
    return other;
  }
  // By a retired guid this is a late retry of a change that others have followed.
  if (path === subscription.guid) replaceGuid(set, subscription, guid);
  return subscription;
}

/** Applies PATCH's new_feed_url. */
export function changeFeed(set: WorkingSet, subscription: SubscriptionState, feed: FeedUrl): void {
  const other = set.byFeed(feed.hash);
  if (other && other !== subscription) mergeSubscriptions(set, other, subscription);
  moveSubscription(set, subscription, feed);
}

/** Applies PATCH's is_subscribed; subscribing again cancels a pending deletion. */
export function changeSubscribed(set: WorkingSet, subscription: SubscriptionState, is_subscribed: boolean): void {
  if (subscription.is_subscribed === is_subscribed) return;
  subscription.is_subscribed = is_subscribed;
  subscription.subscription_changed = set.timestamp(subscription);
  if (is_subscribed) cancelDeletion(set, subscription);
}

/** Gives a subscription a title if it has none. */
export function giveTitle(subscription: SubscriptionState, title: string | null): void {
  subscription.title ??= title;
}

/** Carries a deletion out: guids and feed URLs stay and lead to the tombstone (P3). */
export function deleteSubscription(set: WorkingSet, subscription: SubscriptionState): void {
  if (subscription.deleted !== null) return;
  subscription.is_subscribed = false;
  subscription.deleted = set.timestamp(subscription);
}

/** Unsubscribes; what was deleted stays so. */
export function unsubscribe(set: WorkingSet, subscription: SubscriptionState): void {
  if (subscription.deleted === null) changeSubscribed(set, subscription, false);
}

/** Moves a subscription to the end of the change feed, for clients that have removed it. */
export function touchSubscription(set: WorkingSet, subscription: SubscriptionState): void {
  if (subscription.deleted === null) subscription.subscription_changed = set.timestamp(subscription);
}

/** Creates a subscription that gets the feed URL and the guid, also if another one had them. */
export function createSubscription(set: WorkingSet, feed: FeedUrl, guid: string): SubscriptionState {
  const subscription = set.create(feed.feed_url, guid);
  set.guids.set(guid, { subscription, retired_at: null });
  set.feeds.set(feed.hash, subscription);
  return subscription;
}

/** Whether this is the subscription's feed URL, in any spelling. */
export function isCurrent(subscription: SubscriptionState, feed: FeedUrl): boolean {
  return readFeedHash(subscription.feed_url) === feed.hash;
}

/**
 * Subscribes to a subscription that is unsubscribed or deleted; cancels a pending deletion.
 * @param feed the feed URL with which a deleted one comes back; its own if it is missing
 */
export function subscribeAgain(set: WorkingSet, subscription: SubscriptionState, feed?: FeedUrl): void {
  cancelDeletion(set, subscription);
  if (subscription.deleted === null && subscription.is_subscribed) return;
  if (subscription.deleted !== null && feed) {
    subscription.feed_url = feed.feed_url;
    set.feeds.set(feed.hash, subscription);
  }
  subscription.is_subscribed = true;
  subscription.deleted = null;
  subscription.subscription_changed = set.timestamp(subscription);
}

/** Gives a subscription a feed URL, also if another one had it. */
export function moveSubscription(set: WorkingSet, subscription: SubscriptionState, feed: FeedUrl): void {
  set.feeds.set(feed.hash, subscription);
  if (subscription.feed_url === feed.feed_url) return;
  subscription.feed_url = feed.feed_url;
  subscription.subscription_changed = set.timestamp(subscription);
}

function replaceGuid(set: WorkingSet, subscription: SubscriptionState, guid: string): void {
  retireGuid(set, subscription, subscription.guid);
  set.guids.set(guid, { subscription, retired_at: null });
  subscription.guid = guid;
}

function retireGuid(set: WorkingSet, subscription: SubscriptionState, guid: string): void {
  subscription.guid_changed = set.timestamp(subscription);
  set.guids.set(guid, { subscription, retired_at: subscription.guid_changed });
}

function cancelDeletion(set: WorkingSet, subscription: SubscriptionState): void {
  if (set.cancelDeletion(subscription)) subscription.subscription_changed = set.timestamp(subscription);
}

/** Makes `from` part of `into`, which is subscribed if either is. */
export function mergeSubscriptions(set: WorkingSet, from: SubscriptionState, into: SubscriptionState): void {
  const now = set.timestamp(into);
  cancelDeletion(set, into);
  if (set.cancelDeletion(from)) into.subscription_changed = now;
  if (from.deleted === null && into.deleted !== null) {
    into.deleted = null;
    into.feed_url = from.feed_url;
    into.is_subscribed = from.is_subscribed;
    into.subscription_changed = now;
  } else if (from.deleted === null && from.is_subscribed && !into.is_subscribed) {
    into.is_subscribed = true;
    into.subscription_changed = now;
  }
  giveTitle(into, from.title);
  set.merge(from, into);
  retireGuid(set, into, from.guid);
}
