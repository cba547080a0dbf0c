// History: what each transaction changed, and the state before it (P10).
import type { SubscriptionState } from "./subscription-state.ts";
import type { WorkingSet } from "./working-set.ts";

export type Status = "subscribed" | "unsubscribed" | "deleted";

/**
 * What happened to a subscription.
 * - added, subscribed, unsubscribed, deleted, moved, guid_replaced: what they say
 * - guid_added: one more guid leads to it
 * - merged: it became part of another one
 * - kept: a deletion of it was cancelled or failed
 * - restored: the server's data was replaced by a backup; about the whole list
 * - lost: it is not in that backup
 */
export type What =
  | "added"
  | Status
  | "moved"
  | "guid_replaced"
  | "guid_added"
  | "merged"
  | "kept"
  | "restored"
  | "lost";

/** A change as it is stored; times are Unix milliseconds. */
export interface Change {
  /** Timestamp on the user's clock. */
  changed_at: number;
  /** Order among changes with the same timestamp, from 0. */
  seq: number;
  subscription: number | null;
  what: What;
  /** Feed URL and guid after the change; those of a merged or lost subscription before it. */
  feed_url: string | null;
  guid: string | null;
  /** The feed URL before "moved", the guid before "guid_replaced", else the status before; null if there was none. */
  before: string | null;
  merged_into: number | null;
  /** Title of a merged or lost subscription. */
  title: string | null;
}

/** A place in the history: only earlier changes come after it. */
export type HistoryPosition = Pick<Change, "changed_at" | "seq">;

/** Who makes a change, as they are called then. */
export interface ChangedBy {
  /** `session` is an app with the password, `token` one with a token, `page` the user on the web page. */
  kind: "token" | "session" | "page" | "admin" | "worker";
  /** The id of the token that the app has, or by which the user signed in to the page; null for others. */
  id: string | null;
  /** What the token, the app or the command is called. */
  label: string | null;
  /** The device that an app named. */
  device: string | null;
}

/** Who made a change, from the columns that say it. */
export const readChangedBy = (row: {
  actor_kind: ChangedBy["kind"];
  actor_id: string | null;
  actor_label: string | null;
  actor_device: string | null;
}): ChangedBy => ({ kind: row.actor_kind, id: row.actor_id, label: row.actor_label, device: row.actor_device });

/** Names the app that made a change: its token, under any device and label; without a token its label and device. */
export const appOf = ({ kind, id, label, device }: ChangedBy) =>
  JSON.stringify(id === null ? [kind, label, device] : [kind, id]);

/** @param row of the working set or of the database */
export function statusOf(row: { is_subscribed: boolean | number; deleted: number | null }): Status {
  const { is_subscribed, deleted } = row;
  if (deleted !== null) return "deleted";
  return is_subscribed ? "subscribed" : "unsubscribed";
}

/** Whether it is on the list. */
export const isSubscribed = (row: Parameters<typeof statusOf>[0]): boolean => statusOf(row) === "subscribed";

/** Describes what was changed in a working set. A change of two things is two rows. */
export function describeChanges(set: WorkingSet): Change[] {
  const seqs = new Map<number, number>();
  const changes = set.changes();
  const mergedInto = new Set(changes.map(({ merged_into }) => merged_into));
  const retired = set.retiredGuids();
  return changes.flatMap(({ before, after, merged_into, changed_at }) => {
    const { id, feed_url, guid, title } = (after ?? before) as SubscriptionState;
    const rows: Change[] = [];
    const add = (what: What, was: string | null, more: Partial<Change> = {}) => {
      const seq = seqs.get(changed_at) ?? 0;
      seqs.set(changed_at, seq + 1);
      const change = { changed_at, seq, subscription: id, what, feed_url, guid, before: was };
      rows.push({ ...change, merged_into: null, title: null, ...more });
    };
    if (!before) add("added", null);
    else if (!after) add("merged", statusOf(before), { merged_into: merged_into?.id ?? null, title });
    else {
      if (statusOf(before) !== statusOf(after)) add(statusOf(after), statusOf(before));
      if (before.feed_url !== feed_url) add("moved", before.feed_url);
      if (before.guid !== guid) add("guid_replaced", before.guid);
      if (rows.length > 0 || mergedInto.has(after)) return rows;
      if (before.guid_changed === after.guid_changed) add("kept", null);
      else add("guid_added", null, { guid: retired.get(after) ?? null });
    }
    return rows;
  });
}

/** Whether a change took a subscribed podcast off the list. A merged one is still on it, under another guid. */
export function isRemoval({ what, before }: Pick<Change, "what" | "before">): boolean {
  return (what === "unsubscribed" || what === "deleted") && before === "subscribed";
}

/** Follows merges of changes. @returns what gives the ids of a podcast and of all that it became part of, in order */
export function followMerges(
  changes: Iterable<Pick<Change, "subscription" | "merged_into">>,
): (id: number | null) => Set<number> {
  const merged = new Map<number | null, number>();
  for (const { subscription, merged_into } of changes) if (merged_into !== null) merged.set(subscription, merged_into);
  return (id) => {
    const chain = new Set<number>();
    // After a restored backup two podcasts can have been merged in both directions.
    for (let at = id ?? undefined; at !== undefined && !chain.has(at); at = merged.get(at)) chain.add(at);
    return chain;
  };
}

/** A subscription as it was at some time. */
export interface PastSubscription {
  id: number;
  feed_url: string;
  guid: string;
  status: Status;
  title: string | null;
}

/** A subscription as it is stored. */
export const readSubscription = (
  row: Omit<PastSubscription, "status"> & { is_subscribed: number; deleted: number | null },
): PastSubscription => ({
  id: row.id,
  feed_url: row.feed_url,
  guid: row.guid,
  status: statusOf(row),
  title: row.title,
});

/**
 * Describes how one state of all subscriptions became another one, by the subscriptions' ids.
 * @returns changes without timestamp and order
 */
export function describeDifference(
  before: Iterable<PastSubscription>,
  after: Iterable<PastSubscription>,
): Omit<Change, "changed_at" | "seq">[] {
  const describe = (one: PastSubscription, what: What, was: string | null, title: string | null = null) => {
    const { id, feed_url, guid } = one;
    return { subscription: id, what, feed_url, guid, before: was, merged_into: null, title };
  };
  const left = new Map([...before].map((one) => [one.id, one]));
  const changes = [...after].flatMap((one) => {
    const was = left.get(one.id);
    left.delete(one.id);
    const status = was?.status ?? "subscribed";
    return [
      ...(was ? [] : [describe(one, "added", null)]),
      ...(one.status === status ? [] : [describe(one, one.status, status)]),
      ...(was && was.feed_url !== one.feed_url ? [describe(one, "moved", was.feed_url)] : []),
      ...(was && was.guid !== one.guid ? [describe(one, "guid_replaced", was.guid)] : []),
    ];
  });
  const lost = [...left.values()].map((one) => describe(one, "lost", one.status, one.title));
  return [...lost, ...changes];
}

/**
 * Undoes changes.
 * @param present all subscriptions as they are, deleted ones too
 * @param changes newest first
 * @returns the subscriptions as they were before the last of the changes, by id
 */
export function undoChanges(
  present: Iterable<PastSubscription>,
  changes: Iterable<Change>,
): Map<number, PastSubscription> {
  const past = new Map([...present].map((one) => [one.id, { ...one }]));
  for (const change of changes) undoChange(past, change);
  return past;
}

/** Undoes the latest change of subscriptions. */
export function undoChange(subscriptions: Map<number, PastSubscription>, change: Change): void {
  const { subscription, what, before, feed_url, guid, title } = change;
  if (subscription === null) return;
  const one = subscriptions.get(subscription);
  if (what === "added") subscriptions.delete(subscription);
  else if ((what === "merged" || what === "lost") && feed_url !== null && guid !== null) {
    subscriptions.set(subscription, { id: subscription, feed_url, guid, status: before as Status, title });
  } else if (one && before !== null) {
    if (what === "moved") one.feed_url = before;
    else if (what === "guid_replaced") one.guid = before;
    else one.status = before as Status;
  }
}
