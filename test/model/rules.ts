// The rules of P3 to P6: what adding, patching, merging and deleting do to one user's state. Pure, in memory.
import { computedGuid, feedKey } from "./feeds.ts";
import { type Deletion, type Entry, place, type Stamp, type State } from "./state.ts";

/** What a PATCH can change. */
export interface Changes {
  new_feed_url?: string;
  new_guid?: string;
  is_subscribed?: boolean;
}

/** One item of a POST: finds its subscription, or creates one, and subscribes to it (P4). */
export function add(state: State, stamp: Stamp, feedUrl: string, sentGuid?: string): Entry {
  const key = feedKey(feedUrl);
  const byFeed = state.feeds.get(key);
  if (sentGuid === undefined) {
    const found = byFeed ?? state.byGuid(computedGuid(key));
    if (!found) return create(state, stamp, feedUrl, computedGuid(key));
    if (found.deleted !== undefined) takeAddress(state, stamp, found, feedUrl);
    return subscribe(state, stamp, found);
  }
  const byGuid = state.byGuid(sentGuid);
  if (byGuid) {
    if (byFeed && byFeed !== byGuid) merge(state, stamp, byFeed, byGuid);
    if (byFeed !== byGuid || byGuid.deleted !== undefined) takeAddress(state, stamp, byGuid, feedUrl);
    return subscribe(state, stamp, byGuid);
  }
  if (!byFeed) return create(state, stamp, feedUrl, sentGuid);
  if (byFeed.deleted !== undefined) takeAddress(state, stamp, byFeed, feedUrl);
  if (feedKey(byFeed.feedUrl) === key) takeGuid(state, stamp, byFeed, sentGuid);
  else recordOldGuid(state, stamp, byFeed, sentGuid);
  return subscribe(state, stamp, byFeed);
}

/** A PATCH of a live subscription; returns the one that replaces it (P4). */
export function patch(state: State, stamp: Stamp, path: string, changes: Changes): Entry {
  const named = state.byGuid(path)!;
  const entry = changes.new_guid === undefined ? named : changeGuid(state, stamp, path, changes.new_guid);
  const { new_feed_url: address, is_subscribed: wanted } = changes;
  if (address !== undefined && address !== entry.feedUrl) {
    const other = state.feeds.get(feedKey(address));
    if (other && other !== entry) merge(state, stamp, other, entry);
    takeAddress(state, stamp, entry, address);
  }
  if (wanted === false && entry.isSubscribed) {
    entry.isSubscribed = false;
    entry.subscriptionChanged = stamp(entry);
  }
  return wanted && !entry.isSubscribed ? subscribe(state, stamp, entry) : entry;
}

/** DELETE: the entry's pending deletion, or a new one (P6). It does not change the subscription. */
export function requestDeletion(state: State, entry: Entry): Deletion {
  const asked = state.pending(entry);
  if (asked) return asked;
  const deletion: Deletion = { id: state.deletions.length + 1, entry, status: "PENDING" };
  state.deletions.push(deletion);
  return deletion;
}

/** The worker's part of a deletion (P6). */
export function cascade(stamp: Stamp, deletion: Deletion): void {
  deletion.status = "SUCCESS";
  deletion.entry.isSubscribed = false;
  deletion.entry.deleted = stamp(deletion.entry);
}

function create(state: State, stamp: Stamp, feedUrl: string, guid: string): Entry {
  const entry: Entry = {
    feedUrl,
    guid,
    isSubscribed: true,
    subscriptionChanged: 0,
    guidChanged: undefined,
    deleted: undefined,
  };
  entry.subscriptionChanged = stamp(entry);
  state.guids.set(guid, { entry, retired: undefined });
  state.feeds.set(feedKey(feedUrl), entry);
  return entry;
}

/** Subscribes again, revives a deleted subscription, cancels a pending deletion. */
function subscribe(state: State, stamp: Stamp, entry: Entry): Entry {
  const cancelled = cancelDeletion(state, entry);
  if (cancelled || !entry.isSubscribed) {
    entry.isSubscribed = true;
    entry.deleted = undefined;
    entry.subscriptionChanged = stamp(entry);
  }
  return entry;
}

function cancelDeletion(state: State, entry: Entry): boolean {
  const deletion = state.pending(entry);
  if (deletion) deletion.status = "FAILURE";
  return deletion !== undefined;
}

function takeAddress(state: State, stamp: Stamp, entry: Entry, feedUrl: string): void {
  state.feeds.set(feedKey(feedUrl), entry);
  if (entry.feedUrl === feedUrl) return;
  entry.feedUrl = feedUrl;
  entry.subscriptionChanged = stamp(entry);
}

/** new_guid: no change, a replacement, a retired guid made current again, or a merge into the subscription that has it. */
function changeGuid(state: State, stamp: Stamp, path: string, guid: string): Entry {
  const entry = state.byGuid(path)!;
  const owner = state.byGuid(guid);
  if (owner && owner !== entry) {
    merge(state, stamp, entry, owner);
    return owner;
  }
  const lateRetry = owner === entry && path !== entry.guid;
  if (guid !== entry.guid && !lateRetry) takeGuid(state, stamp, entry, guid);
  return entry;
}

function takeGuid(state: State, stamp: Stamp, entry: Entry, guid: string): void {
  recordOldGuid(state, stamp, entry, entry.guid);
  state.guids.set(guid, { entry, retired: undefined });
  entry.guid = guid;
}

function recordOldGuid(state: State, stamp: Stamp, entry: Entry, guid: string): void {
  entry.guidChanged = stamp(entry);
  state.guids.set(guid, { entry, retired: entry.guidChanged });
}

/** Merges `from` into `into`: all guids and URLs of `from` are those of `into`, and `from` is gone (P4). */
function merge(state: State, stamp: Stamp, from: Entry, into: Entry): void {
  const cancelled = [from, into].map((side) => cancelDeletion(state, side)).includes(true);
  const revived = into.deleted !== undefined && from.deleted === undefined;
  const isSubscribed = into.isSubscribed || from.isSubscribed;
  if (cancelled || revived || isSubscribed !== into.isSubscribed) into.subscriptionChanged = stamp(into);
  into.isSubscribed = isSubscribed;
  if (revived) {
    into.deleted = undefined;
    into.feedUrl = from.feedUrl;
  }
  recordOldGuid(state, stamp, into, from.guid);
  for (const lead of state.guids.values()) {
    if (lead.entry !== from) continue;
    lead.entry = into;
    // A guid retired in this transaction becomes a change of `into`, which has one timestamp for all its changes.
    if (lead.retired !== undefined) lead.retired = Math.min(lead.retired, stamp(into));
  }
  for (const [key, entry] of state.feeds) if (entry === from) state.feeds.set(key, into);
}

/** Invariants of every state: distinct timestamps (P1), one subscription per guid and URL (P3). */
export function faults(state: State): string[] {
  const entries = state.entries();
  const places = new Set(entries.map(place));
  return [
    ...(places.size < entries.length ? ["two entries share a timestamp"] : []),
    ...[...state.guids]
      .filter(([, { entry, retired }]) => retired !== undefined && retired > place(entry))
      .map(([guid]) => `${guid} was retired after its subscription's place`),
    ...entries.flatMap((entry) => [
      ...(place(entry) > state.clock ? [`${entry.guid} is ahead of the clock`] : []),
      ...(state.guids.get(entry.guid)?.retired !== undefined ? [`${entry.guid} is retired and current`] : []),
      ...(state.byGuid(entry.guid) !== entry ? [`${entry.guid} leads elsewhere`] : []),
      ...(state.feeds.get(feedKey(entry.feedUrl)) !== entry ? [`${entry.feedUrl} leads elsewhere`] : []),
      ...(entry.deleted !== undefined && entry.isSubscribed ? [`${entry.guid} is deleted and subscribed`] : []),
    ]),
  ];
}
