// A listener's subscriptions in memory for one transaction: reading what a request can touch, writing what it changed.

import type { SubscriptionTable } from "../db/schema.ts";
import { cancelDeletions, findPending } from "../store/deletions.ts";
import { findFeeds, listFeedsOf, saveFeeds } from "../store/feeds.ts";
import { findGuids, listGuidsOf, saveGuids } from "../store/guids.ts";
import { deleteSubscriptions, findSubscriptions, saveSubscriptions } from "../store/subscriptions.ts";
import type { Transaction } from "./transact.ts";

/** A subscription as this transaction sees it. */
export interface Entry extends Omit<SubscriptionTable, "user_id" | "changed_at"> {
  /** The one stamp of all its changes in this transaction; null while there is none. */
  stamp: number | null;
}

interface Lead<T> {
  row: T & { subscription: number };
  changed: boolean;
}

/** The part of a listener's subscriptions that one request can touch. */
export interface Library {
  tx: Transaction;
  entries: Map<number, Entry>;
  guids: Map<string, Lead<{ guid: string; retired_at: number | null }>>;
  feeds: Map<string, Lead<{ feed: string }>>;
  /** Subscription -> its pending deletion. */
  pending: Map<number, number>;
  calledOff: number[];
  /** Subscription that is gone -> the one it was merged into. */
  merged: Map<number, number>;
}

const unchanged = <T>(row: T) => ({ row, changed: false });

/** Reads all that these guids and feed addresses lead to. */
export async function loadLibrary(
  transaction: Transaction,
  guids: Iterable<string>,
  feeds: Iterable<string>,
): Promise<Library> {
  const { tx, user_id } = transaction;
  const guidRows = await findGuids(
    tx,
    { user_id },
    [...new Set(guids)].map((guid) => ({ guid })),
  );
  const feedRows = await findFeeds(
    tx,
    { user_id },
    [...new Set(feeds)].map((feed) => ({ feed })),
  );
  const ids = [...new Set([...guidRows, ...feedRows].map((row) => row.subscription))];
  const rows = await findSubscriptions(
    tx,
    { user_id },
    ids.map((id) => ({ id })),
  );
  const pending = await findPending(
    tx,
    { user_id },
    ids.map((subscription) => ({ subscription })),
  );
  return {
    tx: transaction,
    entries: new Map(rows.map((row) => [row.id, { ...row, stamp: null }])),
    guids: new Map(guidRows.map((row) => [row.guid, unchanged(row)])),
    feeds: new Map(feedRows.map((row) => [row.feed, unchanged(row)])),
    pending: new Map(pending.map((row) => [row.subscription, row.id])),
    calledOff: [],
    merged: new Map(),
  };
}

/** The subscription with this id, or the one that it was merged into. */
export function entryOf(library: Library, id: number): Entry | undefined {
  let current = id;
  for (let next = library.merged.get(current); next !== undefined; next = library.merged.get(current)) current = next;
  return library.entries.get(current);
}

export function entryByGuid(library: Library, guid: string): Entry | undefined {
  const lead = library.guids.get(guid);
  return lead && entryOf(library, lead.row.subscription);
}

export function entryByFeed(library: Library, feed: string): Entry | undefined {
  const lead = library.feeds.get(feed);
  return lead && entryOf(library, lead.row.subscription);
}

/** Writes what has changed. */
export async function saveLibrary(library: Library, now: number): Promise<void> {
  const { tx, user_id } = library.tx;
  await repointMerged(library);
  const entries = [...library.entries.values()].filter((entry) => entry.stamp !== null);
  await saveSubscriptions(
    tx,
    { user_id },
    entries.map((entry) => ({ ...entry, changed_at: entry.stamp ?? 0 })),
  );
  await saveGuids(
    tx,
    { user_id },
    changedLeads(library, library.guids).map((row) => retireInTime(library, row)),
  );
  await saveFeeds(tx, { user_id }, changedLeads(library, library.feeds));
  await deleteSubscriptions(
    tx,
    { user_id },
    [...library.merged.keys()].map((id) => ({ id })),
  );
  await cancelDeletions(
    tx,
    { user_id, finished_at: now },
    library.calledOff.map((id) => ({ id })),
  );
}

function changedLeads<T>(library: Library, leads: Map<string, Lead<T>>) {
  return [...leads.values()]
    .filter((lead) => lead.changed)
    .map(({ row }) => ({ ...row, subscription: entryOf(library, row.subscription)?.id ?? row.subscription }));
}

// A guid that its subscription lost in this very transaction, before it was merged into one with an earlier stamp, is
// retired at that stamp: no guid retires later than its subscription's place in the feed, which `total` relies on.
function retireInTime<Row extends { subscription: number; retired_at: number | null }>(
  library: Library,
  row: Row,
): Row {
  const stamp = library.entries.get(row.subscription)?.stamp ?? row.retired_at;
  return row.retired_at === null || stamp === null ? row : { ...row, retired_at: Math.min(row.retired_at, stamp) };
}

// All guids and addresses of a merged subscription lead to the other one, those included that this request didn't name.
async function repointMerged(library: Library): Promise<void> {
  const { tx, user_id } = library.tx;
  const gone = [...library.merged.keys()].map((id) => ({ id }));
  if (gone.length === 0) return;
  for (const row of await listGuidsOf(tx, { user_id }, gone)) {
    library.guids.set(row.guid, { row: library.guids.get(row.guid)?.row ?? row, changed: true });
  }
  for (const row of await listFeedsOf(tx, { user_id }, gone)) library.feeds.set(row.feed, { row, changed: true });
}
