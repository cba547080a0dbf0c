// The rules by which a listener's subscriptions change (P3 to P5), on those of them that are in memory.

import { type Entry, entryByFeed, entryByGuid, type Library } from "../services/working-set.ts";
import { type Feed, readFeed } from "./feed-url.ts";

/** Adds a feed as POST does; `guid` is the one that was sent, if one was. */
export function addFeed(library: Library, feed: Feed, guid: string | null): Entry {
  const onFeed = entryByFeed(library, feed.feed);
  const named = entryByGuid(library, guid ?? feed.computed_guid);
  if (guid === null) {
    const found = onFeed ?? named;
    if (!found) return createEntry(library, feed, feed.computed_guid);
    subscribe(library, found, feed);
    return found;
  }
  if (named) {
    if (onFeed && onFeed !== named) mergeEntries(library, onFeed, named);
    subscribe(library, named, null);
    if (onFeed !== named) moveEntry(library, named, feed);
    return named;
  }
  if (!onFeed) return createEntry(library, feed, guid);
  if (onFeed.deleted !== null || isCurrent(onFeed, feed)) replaceGuid(library, onFeed, guid);
  else addRetiredGuid(library, onFeed, guid);
  subscribe(library, onFeed, feed);
  return onFeed;
}

/** Applies PATCH's new_guid and gives the subscription that the path means afterwards. */
export function changeGuid(library: Library, entry: Entry, path: string, guid: string): Entry {
  if (guid === entry.guid) return entry;
  const other = entryByGuid(library, guid);
  if (!other) {
    replaceGuid(library, entry, guid);
    return entry;
  }
  if (other !== entry) {
    mergeEntries(library, entry, other);
    return other;
  }
  // By an old guid this is a late retry of a change that others have followed.
  if (path === entry.guid) replaceGuid(library, entry, guid);
  return entry;
}

/** Applies PATCH's new_feed_url. */
export function changeFeed(library: Library, entry: Entry, feed: Feed): void {
  const other = entryByFeed(library, feed.feed);
  if (other && other !== entry) mergeEntries(library, other, entry);
  moveEntry(library, entry, feed);
}

/** Applies PATCH's is_subscribed; whoever subscribes again wants the podcast, so its deletion is called off. */
export function changeSubscribed(library: Library, entry: Entry, is_subscribed: boolean): void {
  if (entry.is_subscribed === Number(is_subscribed)) return;
  entry.is_subscribed = Number(is_subscribed);
  entry.subscription_changed = stamp(library, entry);
  if (is_subscribed) callOff(library, entry);
}

function stamp(library: Library, entry: Entry): number {
  entry.stamp ??= library.tx.stamp();
  return entry.stamp;
}

function createEntry(library: Library, feed: Feed, guid: string): Entry {
  const now = library.tx.stamp();
  const entry: Entry = {
    id: library.tx.nextSubscription(),
    feed_url: feed.feed_url,
    guid,
    is_subscribed: 1,
    subscription_changed: now,
    guid_changed: null,
    deleted: null,
    stamp: now,
  };
  library.entries.set(entry.id, entry);
  library.guids.set(guid, { row: { guid, subscription: entry.id, retired_at: null }, changed: true });
  leadFeed(library, entry, feed);
  return entry;
}

function leadFeed(library: Library, entry: Entry, { feed }: Feed): void {
  if (entryByFeed(library, feed) !== entry) {
    library.feeds.set(feed, { row: { feed, subscription: entry.id }, changed: true });
  }
}

function isCurrent(entry: Entry, feed: Feed): boolean {
  const current = readFeed(entry.feed_url);
  return "feed" in current && current.feed === feed.feed;
}

// A deleted subscription comes back with the address `feed`, or on its own where that is null.
function subscribe(library: Library, entry: Entry, feed: Feed | null): void {
  callOff(library, entry);
  if (entry.deleted === null && entry.is_subscribed === 1) return;
  if (entry.deleted !== null && feed) {
    entry.feed_url = feed.feed_url;
    leadFeed(library, entry, feed);
  }
  entry.is_subscribed = 1;
  entry.deleted = null;
  entry.subscription_changed = stamp(library, entry);
}

function moveEntry(library: Library, entry: Entry, feed: Feed): void {
  leadFeed(library, entry, feed);
  if (entry.feed_url === feed.feed_url) return;
  entry.feed_url = feed.feed_url;
  entry.subscription_changed = stamp(library, entry);
}

function replaceGuid(library: Library, entry: Entry, guid: string): void {
  const now = stamp(library, entry);
  library.guids.set(entry.guid, { row: { guid: entry.guid, subscription: entry.id, retired_at: now }, changed: true });
  library.guids.set(guid, { row: { guid, subscription: entry.id, retired_at: null }, changed: true });
  entry.guid = guid;
  entry.guid_changed = now;
}

function addRetiredGuid(library: Library, entry: Entry, guid: string): void {
  const now = stamp(library, entry);
  library.guids.set(guid, { row: { guid, subscription: entry.id, retired_at: now }, changed: true });
  entry.guid_changed = now;
}

function callOff(library: Library, entry: Entry): void {
  if (dropPending(library, entry)) entry.subscription_changed = stamp(library, entry);
}

function dropPending(library: Library, entry: Entry): boolean {
  const deletion = library.pending.get(entry.id);
  if (deletion === undefined) return false;
  library.calledOff.push(deletion);
  return library.pending.delete(entry.id);
}

// `from` is gone afterwards; whatever led to it leads to `into`.
function mergeEntries(library: Library, from: Entry, into: Entry): void {
  const now = stamp(library, into);
  callOff(library, into);
  if (dropPending(library, from)) into.subscription_changed = now;
  if (from.deleted === null && into.deleted !== null) {
    into.deleted = null;
    into.feed_url = from.feed_url;
    into.is_subscribed = from.is_subscribed;
    into.subscription_changed = now;
  } else if (from.deleted === null && from.is_subscribed > into.is_subscribed) {
    into.is_subscribed = 1;
    into.subscription_changed = now;
  }
  into.guid_changed = now;
  library.guids.set(from.guid, { row: { guid: from.guid, subscription: into.id, retired_at: now }, changed: true });
  library.entries.delete(from.id);
  library.merged.set(from.id, into.id);
}
