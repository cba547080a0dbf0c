// Earlier lists: what was subscribed at a moment, and bringing back what was lost (P10).
import type { Tx } from "../db/statement.ts";
import {
  appOf,
  type Change,
  type ChangedBy,
  isRemoval,
  type PastSubscription,
  readChangedBy,
  readSubscription,
  undoChange,
} from "../domain/history.ts";
import { guidsFor, readWanted, restoreList } from "../domain/restore-rules.ts";
import { subscribeAgain, unsubscribe } from "../domain/subscription-rules.ts";
import type { SubscriptionState } from "../domain/subscription-state.ts";
import type { WorkingSet } from "../domain/working-set.ts";
import { DomainError } from "../errors.ts";
import { readChangesFrom, readHistoryStart } from "../store/history.ts";
import { listSubscriptions } from "../store/subscriptions.ts";
import { type Actor, requireWrite } from "./actor.ts";
import type { Context } from "./context.ts";
import { changeOf, findTimestamp } from "./history.ts";
import { inParts } from "./parts.ts";
import { changeOrRehearse, loadWorkingSet, type Rehearsal } from "./working-set.ts";

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

/** All subscriptions, now and as they were before the changes from a timestamp on. */
async function readPast(tx: Tx, user_id: number, from: number) {
  const present = await listSubscriptions(tx, { user_id });
  const past = new Map(present.map((row) => [row.id, readSubscription(row)]));
  for await (const changes of readChangesFrom(tx, { user_id, from })) {
    for (const row of changes) undoChange(past, changeOf(row));
  }
  return { present, past };
}

/** A subscription that was subscribed. */
type SubscribedThen = Pick<PastSubscription, "feed_url" | "guid" | "title">;

/** The list as it was at a moment. @throws DomainError "invalid" if that is before the history begins */
export async function listSubscribedAt(
  { database, clock }: Context,
  { user_id }: Actor,
  moment: Moment,
): Promise<SubscribedThen[]> {
  const now = clock.now();
  const { past } = await database.read(async (tx) => readPast(tx, user_id, await findMoment(tx, user_id, moment, now)));
  return [...past.values()].filter(({ status }) => status === "subscribed");
}

/** A moment: a wall time in Unix milliseconds, or just before the changes with a timestamp. */
type Moment = { as_of: number } | { before: number };

interface RestoreOptions extends Rehearsal {
  /** Make the list exactly as it was. */
  exact: boolean;
}

/**
 * Subscribes again to what was subscribed at a moment (`restoreList` says how). What needs no move, merge or new
 * subscription is done before, in parts: if that is cut off, the same again completes it.
 * @returns what changed
 * @throws DomainError "invalid" for a time in the future or before the history begins
 */
export async function restoreSubscriptions(
  context: Context,
  actor: Actor,
  moment: Moment,
  { exact, dry_run }: RestoreOptions,
): Promise<Change[]> {
  const now = context.clock.now();
  if ("as_of" in moment && moment.as_of > now) {
    throw new DomainError("invalid", `${formatTime(moment.as_of)} is in the future`);
  }
  const before = await context.database.read((tx) => findMoment(tx, actor.user_id, moment, now));
  const planned = await restoreBefore(context, actor, before, { exact, dry_run: true });
  if (dry_run) return planned;
  requireWrite(actor);
  const guidsOf = (what: Change["what"]) => planned.flatMap((change) => (change.what === what && change.guid) || []);
  const changes = await changeInParts(context, actor, guidsOf("subscribed"), subscribeAgain);
  changes.push(...(await changeInParts(context, actor, guidsOf("unsubscribed"), unsubscribe)));
  // Without a transaction, which would load the whole list while other users wait.
  const left = await restoreBefore(context, actor, before, { exact, dry_run: true });
  if (left.length > 0) changes.push(...(await restoreBefore(context, actor, before, { exact, dry_run: false })));
  return changes;
}

function restoreBefore(
  context: Context,
  actor: Actor,
  before: number,
  { exact, dry_run }: RestoreOptions,
): Promise<Change[]> {
  return changeOrRehearse(context, actor, { dry_run }, async (user) => {
    const { tx, user_id } = user;
    const now = context.clock.now();
    const { present, past } = await readPast(tx, user_id, await findMoment(tx, user_id, { before }, now));
    const wanted = readWanted(past.values());
    const urls = new Map(present.map(({ id, feed_url }) => [id, feed_url]));
    const changed = wanted.filter((one) => urls.get(one.past.id) !== one.past.feed_url);
    const feeds = changed.map(({ feed }) => feed.hash);
    const set = await loadWorkingSet(user, { all: true, guids: changed.flatMap(guidsFor), feeds });
    restoreList(set, wanted, exact);
    return set;
  });
}

type ChangeOne = (set: WorkingSet, subscription: SubscriptionState) => void;

/** Changes the subscriptions that have these guids, one part of them after the other. */
async function changeInParts(context: Context, actor: Actor, guids: string[], change: ChangeOne): Promise<Change[]> {
  const changes: Change[] = [];
  for (const part of inParts(guids, (guid) => guid)) {
    const done = await changeOrRehearse(context, actor, { dry_run: false }, async (user) => {
      const set = await loadWorkingSet(user, { guids: part });
      for (const guid of part) {
        const subscription = set.byGuid(guid);
        if (subscription) change(set, subscription);
      }
      return set;
    });
    changes.push(...done);
  }
  return changes;
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
}

/**
 * Subscribes again to what one app removed, in parts. What has moved or was merged since stays so.
 * @returns what changed
 */
export async function putBack(context: Context, actor: Actor, { by, from, to }: Removals): Promise<Change[]> {
  requireWrite(actor);
  const { user_id } = actor;
  const app = appOf(by);
  const guids = await context.database.read(async (tx) => {
    const removed: string[] = [];
    for await (const changes of readChangesFrom(tx, { user_id, from })) {
      for (const row of changes) {
        if (!row.guid || row.changed_at > to || !isRemoval(row)) continue;
        if (appOf(readChangedBy(row)) === app) removed.push(row.guid);
      }
    }
    return removed.toReversed();
  });
  return changeInParts(context, actor, guids, subscribeAgain);
}
