// Earlier lists: what was subscribed at a moment, and bringing back what was lost (P10).
import type { Tx } from "../../db/statement.ts";
import {
  appOf,
  type Change,
  type ChangedBy,
  isRemoval,
  type PastSubscription,
  readChangedBy,
  readSubscription,
  undoChange,
} from "../../domain/history.ts";
import { guidsFor, isMovable, readWanted, restoreList } from "../../domain/restore-rules.ts";
import { subscribeAgain, unsubscribe } from "../../domain/subscription-rules.ts";
import type { SubscriptionState } from "../../domain/subscription-state.ts";
import type { WorkingSet } from "../../domain/working-set.ts";
import { DomainError } from "../../errors.ts";
import { readChanges, readHistoryStart } from "../../store/history.ts";
import { listSubscriptions } from "../../store/subscriptions.ts";
import { nextTurn } from "../../turns.ts";
import { type Actor, requireWrite } from "../actor.ts";
import type { Context } from "../context.ts";
import { asPart, inParts } from "../parts.ts";
import { clockIn } from "../transact.ts";
import { findPodcast, findTimestamp } from "./history.ts";
import { changeSubscriptions, type Rehearsal } from "./working-set.ts";

/** When a user's history begins, in Unix milliseconds: earlier lists can't be brought back. */
export async function readHistorySince({ database, clock }: Context, { user_id }: Actor): Promise<number> {
  return database.read(async (tx) => (await readStart(tx, user_id, clock.now())).since);
}

/** When a user's history begins, and the timestamp up to which it was deleted. */
async function readStart(tx: Tx, user_id: number, now: number): Promise<{ since: number; deleted_to: number }> {
  const [{ created_at, history_since: deleted_to } = { created_at: 0, history_since: 0 }] = await readHistoryStart(tx, {
    user_id,
  });
  // If the clock was ahead when the user was created, it is not known when that was.
  return { since: Math.max(deleted_to, created_at > now ? 0 : created_at), deleted_to };
}

/**
 * What was subscribed at a moment. Others write while the history is read, and nothing that they change is older.
 * @throws DomainError "invalid" if that is before the history begins
 */
export async function listSubscribedAt(
  { database, clock }: Context,
  { user_id }: Actor,
  moment: Moment,
): Promise<PastSubscription[]> {
  const now = clock.now();
  const { from, to, past } = await database.read(async (tx) => {
    const from = await findMoment(tx, user_id, moment, now);
    const to = await clockIn(tx, user_id);
    const present = await listSubscriptions(tx, { user_id });
    return { from, to, past: new Map(present.map((row) => [row.id, readSubscription(row)])) };
  });
  for await (const changes of readChanges(database, { user_id, from, to })) {
    for (const row of changes) undoChange(past, row);
    await nextTurn();
  }
  // What was deleted since then is missing.
  await database.read((tx) => findMoment(tx, user_id, { before: from }, now));
  return [...past.values()].filter(({ status }) => status === "subscribed");
}

/** A moment: a wall time in Unix milliseconds, or just before the changes with a timestamp. */
type Moment = { as_of: number } | { before: number };

/**
 * The list at a moment, and what a restore of it would change, with the titles of the podcasts.
 * @param exact make the list exactly as it was
 * @throws DomainError "invalid" for a time in the future or before the history begins
 */
export async function previewRestore(
  context: Context,
  actor: Actor,
  moment: Moment,
  exact: boolean,
): Promise<{ then: PastSubscription[]; changes: Change[] }> {
  if ("as_of" in moment && moment.as_of > context.clock.now()) {
    throw new DomainError("invalid", `${formatTime(moment.as_of)} is in the future`);
  }
  const then = await listSubscribedAt(context, actor, moment);
  return { then, changes: await restoreThen(context, actor, readWanted(then), exact, { dry_run: true }) };
}

/**
 * Subscribes again to what was subscribed at a moment (`restoreList` says how). What needs no move, merge or new
 * subscription is done before, in parts: if that is cut off, the same again completes it.
 * @returns what changed
 * @throws as `previewRestore` does
 */
export async function restoreSubscriptions(
  context: Context,
  actor: Actor,
  moment: Moment,
  exact: boolean,
): Promise<Change[]> {
  const { then, changes: planned } = await previewRestore(context, actor, moment, exact);
  const guidsOf = (what: Change["what"]) => planned.flatMap((change) => (change.what === what && change.guid) || []);
  const changes: Change[] = [];
  await changeInParts(context, actor, guidsOf("subscribed"), subscribeAgain, changes);
  await changeInParts(context, actor, guidsOf("unsubscribed"), unsubscribe, changes);
  // Without a transaction, which would load the whole list while other users wait.
  const wanted = readWanted(then);
  const left = await restoreThen(context, actor, wanted, exact, { dry_run: true });
  if (left.length > 0) {
    const restoring = restoreThen(context, actor, wanted, exact, { dry_run: false });
    changes.push(...(await asPart(restoring, changes.length === 0)));
  }
  return changes;
}

/** @returns what changes, with the titles that the podcasts then have */
async function restoreThen(
  context: Context,
  actor: Actor,
  wanted: ReturnType<typeof readWanted>,
  exact: boolean,
  options: Rehearsal,
): Promise<Change[]> {
  const wantedWith = (present: { id: number; feed_url: string }[]) => {
    const urls = new Map(present.map(({ id, feed_url }) => [id, feed_url]));
    const changed = wanted.filter(isMovable).filter((one) => urls.get(one.past.id) !== one.past.feed_url);
    return { guids: changed.flatMap(guidsFor), feeds: changed.map(({ feed }) => feed.hash) };
  };
  const restore = (set: WorkingSet) => {
    restoreList(set, wanted, exact);
    return (id: number) => set.byId(id)?.title ?? null;
  };
  const { result: titleOf, changes } = await changeSubscriptions(context, actor, wantedWith, restore, options);
  return changes.map((change) => {
    const { subscription, merged_into } = change;
    return subscription === null || merged_into !== null ? change : { ...change, title: titleOf(subscription) };
  });
}

type ChangeOne = (set: WorkingSet, subscription: SubscriptionState) => void;

/** Changes the subscriptions that have these guids, one part of them after the other. @param changes gets what changed */
async function changeInParts(
  context: Context,
  actor: Actor,
  guids: string[],
  change: ChangeOne,
  changes: Change[],
): Promise<void> {
  for (const part of await inParts(guids, (guid) => guid)) {
    const changing = changeSubscriptions(context, actor, { guids: part }, (set) => {
      for (const guid of part) {
        const subscription = set.byGuid(guid);
        if (subscription) change(set, subscription);
      }
    });
    changes.push(...(await asPart(changing, changes.length === 0)).changes);
  }
}

/** The timestamp of the first change after a moment. */
async function findMoment(tx: Tx, user_id: number, moment: Moment, now: number): Promise<number> {
  const { since, deleted_to } = await readStart(tx, user_id, now);
  if ("as_of" in moment ? moment.as_of < since : moment.before <= deleted_to) {
    throw new DomainError("invalid", `The history begins at ${formatTime(since)}: nothing earlier can be restored`);
  }
  return "as_of" in moment ? findTimestamp(tx, user_id, moment.as_of, now) : moment.before;
}

const formatTime = (at: number) => new Date(at).toISOString();

/** Removals by one app: from and to are timestamps of changes. */
interface Removals {
  by: ChangedBy;
  from: number;
  to: number;
  /** Only of the subscription that has, or had, this guid. */
  guid?: string | undefined;
}

/**
 * Subscribes again to what one app removed, in parts. What has moved, was merged or was removed by others since stays so.
 * @returns what changed
 */
export async function putBack(context: Context, actor: Actor, { by, from, to, guid }: Removals): Promise<Change[]> {
  requireWrite(actor);
  const { user_id } = actor;
  const app = appOf(by);
  const only = guid === undefined ? undefined : await context.database.read((tx) => findPodcast(tx, user_id, guid));
  if (only === null) return [];
  const removed: string[] = [];
  /** Who removed each subscription last: what came back and was removed by others stays so. */
  const removers = new Map<number | null, string>();
  for await (const changes of readChanges(context.database, { user_id, from })) {
    for (const row of changes.filter(isRemoval)) {
      const remover = appOf(readChangedBy(row));
      const last = removers.get(row.subscription) ?? remover;
      removers.set(row.subscription, last);
      const isWanted = row.changed_at <= to && (!only || only.id === row.subscription);
      if (row.guid && isWanted && remover === app && last === app) removed.push(row.guid);
    }
    await nextTurn();
  }
  const changes: Change[] = [];
  // A guid may lead to another one by now, which others have removed.
  const subscribe: ChangeOne = (set, subscription) => {
    if ((removers.get(subscription.id) ?? app) === app) subscribeAgain(set, subscription);
  };
  await changeInParts(context, actor, removed.toReversed(), subscribe, changes);
  return changes;
}
