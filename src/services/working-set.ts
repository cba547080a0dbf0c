// Loading a working set, and saving what has changed in it.
import { type SubscriptionState, WorkingSet } from "../domain/working-set.ts";
import { keepSpellings } from "../store/claims.ts";
import { cancelDeletions, findPending } from "../store/deletions.ts";
import { findFeeds, listFeedsOf, saveFeeds } from "../store/feeds.ts";
import { findGuids, listGuidsOf, saveGuids } from "../store/guids.ts";
import { deleteSubscriptions, findSubscriptions, saveSubscriptions } from "../store/subscriptions.ts";
import type { Actor } from "./actor.ts";
import type { Context } from "./context.ts";
import { transact, type UserTx } from "./transact.ts";

/** What a transaction can touch: subscriptions by their ids, guids, and hashes of feed URLs. */
export interface Wanted {
  ids?: number[];
  guids?: string[];
  feeds?: string[];
}

/** Changes a user's subscriptions in one transaction. `change` may run more than once. @throws as `transact` does */
export function changeSubscriptions<T>(
  context: Context,
  actor: Actor,
  wanted: Wanted,
  change: (set: WorkingSet) => T,
): Promise<T> {
  return transact(context, actor, async (user) => {
    const set = await loadWorkingSet(user, wanted);
    const result = change(set);
    await saveWorkingSet(user, set, context.clock.now());
    return result;
  });
}

const distinct = <T>(values: T[]) => [...new Set(values)];

export async function loadWorkingSet(user: UserTx, { ids = [], guids = [], feeds = [] }: Wanted): Promise<WorkingSet> {
  const { tx, user_id } = user;
  const guidRows = await findGuids(
    tx,
    { user_id },
    distinct(guids).map((guid) => ({ guid })),
  );
  const feedRows = await findFeeds(
    tx,
    { user_id },
    distinct(feeds).map((feed) => ({ feed })),
  );
  const all = distinct([...ids, ...[...guidRows, ...feedRows].map((row) => row.subscription)]);
  const rows = await findSubscriptions(
    tx,
    { user_id },
    all.map((id) => ({ id })),
  );
  const pending = await findPending(
    tx,
    { user_id },
    all.map((subscription) => ({ subscription })),
  );
  return new WorkingSet({ subscriptions: rows.map(readState), guids: guidRows, feeds: feedRows, pending }, user);
}

type Row = Omit<SubscriptionState, "is_subscribed"> & { is_subscribed: number };

function readState(row: Row): SubscriptionState {
  const { id, feed_url, guid, subscription_changed, guid_changed, deleted, title } = row;
  const is_subscribed = row.is_subscribed === 1;
  return { id, feed_url, guid, is_subscribed, subscription_changed, guid_changed, deleted, title };
}

/** @param now wall time in Unix milliseconds */
export async function saveWorkingSet({ tx, user_id }: UserTx, set: WorkingSet, now: number): Promise<void> {
  const merged = set.mergedIds().map((id) => ({ id }));
  if (merged.length > 0) {
    const [guids, feeds] = [await listGuidsOf(tx, { user_id }, merged), await listFeedsOf(tx, { user_id }, merged)];
    set.load({ subscriptions: [], guids, feeds, pending: [] });
  }
  await saveSubscriptions(
    tx,
    { user_id },
    set.changedSubscriptions().map(({ subscription, changed_at }) => ({
      ...subscription,
      is_subscribed: Number(subscription.is_subscribed),
      changed_at,
    })),
  );
  await saveGuids(tx, { user_id }, set.changedGuids());
  await saveFeeds(tx, { user_id }, set.changedFeeds());
  await keepSpellings(tx, { user_id }, set.respelled());
  await deleteSubscriptions(tx, { user_id }, merged);
  await cancelDeletions(
    tx,
    { user_id, finished_at: now },
    set.cancelled.map((id) => ({ id })),
  );
}
