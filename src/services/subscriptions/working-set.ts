// Loading a working set, and saving what has changed in it.
import { hashFeedUrl } from "../../domain/feed-url.ts";
import { type Change, describeChanges } from "../../domain/history.ts";
import { type SubscriptionChange, type SubscriptionState, stateOf } from "../../domain/subscription-state.ts";
import { WorkingSet } from "../../domain/working-set.ts";
import { cancelDeletions, findPending } from "../../store/deletions.ts";
import { findFeeds, listLeftFeedsOf, saveFeeds } from "../../store/feeds.ts";
import { findGuids, listRetiredGuidsOf, saveGuids } from "../../store/guids.ts";
import { insertHistory } from "../../store/history.ts";
import { columnOf, rowsOf } from "../../store/rows.ts";
import { saveSpellings } from "../../store/spellings.ts";
import {
  deleteSubscriptions,
  findSubscriptions,
  listSubscriptions,
  saveSubscriptions,
} from "../../store/subscriptions.ts";
import { type Actor, writeActor } from "../actor.ts";
import type { Context } from "../context.ts";
import { followPodcasts } from "../listening/episode-moves.ts";
import { followEntities } from "../openpodcast-draft/sync-entities.ts";
import { rehearse, transact, type UserTx, type WriteContext } from "../transact.ts";

/** What changes of subscriptions take of the context. */
export type ChangeContext = WriteContext & Pick<Context, "config" | "removals">;

/** What a transaction can touch: subscriptions by their ids, guids, and hashes of feed URLs, and what these lead to. */
interface Wanted {
  ids?: number[];
  guids?: string[];
  feeds?: string[];
}

/** What a transaction on all subscriptions can touch besides them. */
type WantedOfAll = (all: Row[]) => Wanted;

/** How a change that people look at first is made. */
export interface Rehearsal {
  /** Find out what would change, and change nothing. */
  dry_run: boolean;
}

/**
 * Changes a user's subscriptions in one transaction, or finds out what that would change.
 * @param wanted what `change` can touch
 * @param change may run more than once
 * @returns what `change` returns, and what is changed, in the order of the history
 * @throws as `transact` does
 */
export function changeSubscriptions<T>(
  context: Context,
  actor: Actor,
  wanted: Wanted | WantedOfAll,
  change: (set: WorkingSet) => T,
  { dry_run }: Rehearsal = { dry_run: false },
): Promise<{ result: T; changes: Change[] }> {
  return (dry_run ? rehearse : transact)(context, actor, async (user) => {
    const set = typeof wanted === "function" ? await loadAll(user, wanted) : await loadWorkingSet(user, wanted);
    const result = change(set);
    const changes = dry_run ? describeChanges(set) : await saveWorkingSet(user, set, context);
    return { result, changes };
  });
}

async function loadAll(user: UserTx, wanted: WantedOfAll): Promise<WorkingSet> {
  const all = await listSubscriptions(user.tx, { user_id: user.user_id });
  return loadWorkingSet(user, wanted(all), all);
}

/** Loads what a transaction can touch, with pending deletions. @param all all subscriptions, if it can touch them */
export async function loadWorkingSet(
  user: UserTx,
  { ids = [], guids = [], feeds = [] }: Wanted,
  all: Row[] | null = null,
): Promise<WorkingSet> {
  const { tx, user_id } = user;
  const guidRows = await findGuids(tx, { user_id }, rowsOf("guid", guids));
  const feedRows = await findFeeds(tx, { user_id }, rowsOf("feed", feeds));
  const led = [...ids, ...columnOf([...guidRows, ...feedRows], "subscription")];
  const rows = all ?? (await findSubscriptions(tx, { user_id }, rowsOf("id", led)));
  const pending = await findPending(tx, { user_id }, rowsOf("subscription", columnOf(rows, "id")));
  return new WorkingSet({ subscriptions: rows.map(stateOf), guids: guidRows, feeds: feedRows, pending }, user);
}

const isMerge = ({ merged_into }: SubscriptionChange) => merged_into !== null;

type Row = Omit<SubscriptionState, "is_subscribed"> & { is_subscribed: number };

/**
 * Saves a working set with its history.
 * @returns the history
 */
export async function saveWorkingSet(
  user: UserTx,
  set: WorkingSet,
  { clock, removals, config }: ChangeContext,
): Promise<Change[]> {
  const { tx, actor, user_id } = user;
  const now = clock.now();
  const merged = set.merged();
  if (merged.length > 0) {
    const guids = await listRetiredGuidsOf(tx, { user_id }, merged);
    const current = merged.map(({ feed_url }) => ({ feed: hashFeedUrl(feed_url) }));
    const feeds = [...(await findFeeds(tx, { user_id }, current)), ...(await listLeftFeedsOf(tx, { user_id }, merged))];
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
  const feeds = set.changedFeeds();
  await saveFeeds(tx, { user_id }, feeds);
  // Clients that began before keep the spelling that they may have received.
  const respelled = set.respelled().map((one) => ({ ...one, until: user.clock() }));
  await saveSpellings(tx, { user_id }, respelled);
  await deleteSubscriptions(tx, { user_id }, merged);
  await followPodcasts(user, set.changes(), feeds, set.handedOver());
  // While the draft is off, it only must not lose where what is gone leads to.
  if (config.open_podcast_draft === "on") await followEntities(user, set.changes(), now);
  else if (merged.length > 0) await followEntities(user, set.changes().filter(isMerge), now);
  await cancelDeletions(tx, { user_id, finished_at: now }, rowsOf("id", set.cancelled));
  const changes = describeChanges(set);
  await insertHistory(tx, { user_id, at: now, ...writeActor(actor) }, changes);
  user.afterCommit(() => removals.note(actor, changes));
  return changes;
}
