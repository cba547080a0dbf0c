// A user's history: what changed, by whom; bringing back what was lost (P10).
import type { HistoryTable } from "../db/schema.ts";
import type { Tx } from "../db/statement.ts";
import {
  appOf,
  type Change,
  type ChangedBy,
  isRemoval,
  type PastSubscription,
  readChangedBy,
  readSubscription,
  undoChanges,
} from "../domain/history.ts";
import { guidsFor, readWanted, restoreList } from "../domain/restore-rules.ts";
import { subscribeAgain } from "../domain/subscription-rules.ts";
import { DomainError } from "../errors.ts";
import {
  lastToPrune,
  listChangers as listChangersOf,
  listChangesFrom,
  listHistoryBy,
  listHistoryOf,
  listHistoryOfBy,
  listHistory as listRows,
  pruneHistory as pruneRows,
  readHistoryStart,
  saveHistoryStart,
} from "../store/history.ts";
import { findByGuid, findSubscriptions, listSubscriptions } from "../store/subscriptions.ts";
import type { Actor } from "./actor.ts";
import type { Context } from "./context.ts";
import { findTimestamp } from "./mass-removals.ts";
import { streamUserIds } from "./users.ts";
import { describeChange, loadWorkingSet } from "./working-set.ts";

/** A place in the history: only earlier changes come after it. */
export interface HistoryPosition {
  changed_at: number;
  seq: number;
}

/** A change; `at` is the wall time in Unix milliseconds, `title` what the podcast is called now. */
export interface HistoryEntry extends Change {
  at: number;
  by: ChangedBy;
}

const END: HistoryPosition = { changed_at: Number.MAX_SAFE_INTEGER, seq: 0 };

/**
 * Lists a user's changes, newest first.
 * @param after the last change of the page before
 * @param by only changes by this token id, device or label
 * @param guid only changes of the subscription that has, or had, this guid
 * @param since only changes that were made later, in Unix milliseconds
 */
export function listHistory(
  { database }: Context,
  { user_id }: Actor,
  {
    after = END,
    by,
    guid,
    since,
    limit,
  }: { after?: HistoryPosition; by?: string; guid?: string; since?: number; limit: number },
): Promise<HistoryEntry[]> {
  return database.read(async (tx) => {
    const from = since === undefined ? 0 : await findTimestamp(tx, user_id, since);
    const page = { user_id, changed_at: after.changed_at, seq: after.seq, limit };
    const rows = await readRows(tx, page, by, guid);
    return rows
      .filter((row) => row.changed_at >= from)
      .map((row) => ({ ...changeOf(row), title: row.present_title ?? row.title, at: row.at, by: readChangedBy(row) }));
  });
}

async function readRows(tx: Tx, page: Parameters<typeof listRows>[1], by?: string, guid?: string) {
  if (guid === undefined) return by === undefined ? listRows(tx, page) : listHistoryBy(tx, { ...page, by });
  const [found] = await findByGuid(tx, { user_id: page.user_id, guid });
  if (!found) return [];
  const of = { ...page, subscription: found.id };
  return by === undefined ? listHistoryOf(tx, of) : listHistoryOfBy(tx, { ...of, by });
}

/** How many of the latest changes are asked for who made them. */
const LATEST = 5000;

/** Who made the latest changes of a user, under each name that they had. */
export async function listChangers({ database }: Context, { user_id }: Actor): Promise<ChangedBy[]> {
  const rows = await database.read((tx) => listChangersOf(tx, { user_id, limit: LATEST }));
  return rows.map(readChangedBy);
}

const changeOf = (row: HistoryTable): Change => ({
  changed_at: row.changed_at,
  seq: row.seq,
  subscription: row.subscription,
  what: row.what,
  feed_url: row.feed_url,
  guid: row.guid,
  before: row.before,
  merged_into: row.merged_into,
  title: row.title,
});

/** Which of these subscriptions, by their ids, are there and not subscribed. */
export async function findMissing(
  { database }: Context,
  { user_id }: Actor,
  ids: Iterable<number>,
): Promise<Set<number>> {
  const asked = [...new Set(ids)].map((id) => ({ id }));
  const rows = await database.read((tx) => findSubscriptions(tx, { user_id }, asked));
  return new Set(rows.filter((row) => row.is_subscribed === 0 || row.deleted !== null).map(({ id }) => id));
}

/** When a user's history begins, in Unix milliseconds: earlier lists can't be brought back. */
export async function readHistorySince({ database }: Context, { user_id }: Actor): Promise<number> {
  return database.read(async (tx) => (await readStart(tx, user_id)).since);
}

/** When a user's history begins, and the timestamp up to which it was deleted. */
async function readStart(tx: Tx, user_id: string): Promise<{ since: number; deleted_to: number }> {
  const [row] = await readHistoryStart(tx, { user_id });
  const deleted_to = row?.history_since ?? 0;
  return { since: Math.max(deleted_to, row?.created_at ?? 0), deleted_to };
}

/** All subscriptions as they were before the changes from a timestamp on. */
async function readPast(tx: Tx, user_id: string, from: number): Promise<Map<number, PastSubscription>> {
  const present = await listSubscriptions(tx, { user_id });
  const changes = await listChangesFrom(tx, { user_id, from });
  return undoChanges(present.map(readSubscription), changes.map(changeOf));
}

/** A subscription that was subscribed. */
export type SubscribedThen = Pick<PastSubscription, "feed_url" | "guid" | "title">;

/** The list as it was at a moment. @throws DomainError "invalid" if that is before the history begins */
export async function listSubscribedAt(
  { database }: Context,
  { user_id }: Actor,
  moment: Moment,
): Promise<SubscribedThen[]> {
  const past = await database.read(async (tx) => readPast(tx, user_id, await findMoment(tx, user_id, moment)));
  return [...past.values()].filter(({ status }) => status === "subscribed");
}

/** A moment: a wall time in Unix milliseconds, or just before the changes with a timestamp. */
export type Moment = { as_of: number } | { before: number };

export interface RestoreOptions {
  /** Make the list exactly as it was. */
  exact: boolean;
  /** Change nothing. */
  dry_run: boolean;
}

/**
 * Subscribes again to what was subscribed at a moment (`restoreList` says how), in one transaction.
 * @returns what changed
 * @throws DomainError "invalid" for a time in the future or before the history begins
 */
export async function restoreSubscriptions(
  context: Context,
  actor: Actor,
  moment: Moment,
  { exact, dry_run }: RestoreOptions,
): Promise<Change[]> {
  if ("as_of" in moment && moment.as_of > context.clock.now()) {
    throw new DomainError("invalid", `${formatTime(moment.as_of)} is in the future`);
  }
  return describeChange(
    context,
    actor,
    dry_run,
    async (user) => {
      const { tx, user_id } = user;
      const wanted = readWanted((await readPast(tx, user_id, await findMoment(tx, user_id, moment))).values());
      const set = await loadWorkingSet(user, {
        all: true,
        guids: wanted.flatMap(guidsFor),
        feeds: wanted.map(({ feed }) => feed.hash),
      });
      return { set, more: wanted };
    },
    (set, wanted) => restoreList(set, wanted, exact),
  );
}

/** The timestamp of the first change after a moment. */
async function findMoment(tx: Tx, user_id: string, moment: Moment): Promise<number> {
  const { since, deleted_to } = await readStart(tx, user_id);
  if ("as_of" in moment ? moment.as_of < since : moment.before <= deleted_to) {
    throw new DomainError("invalid", `The history begins at ${formatTime(since)}: nothing earlier can be restored`);
  }
  return "as_of" in moment ? findTimestamp(tx, user_id, moment.as_of) : moment.before;
}

const formatTime = (at: number) => new Date(at).toISOString();

/** Removals by one app: from and to are timestamps of changes. */
export interface Removals {
  by: ChangedBy;
  from: number;
  to: number;
}

/**
 * Subscribes again to what one app removed, in one transaction. What has moved or was merged since stays so.
 * @returns what changed
 */
export function putBack(
  context: Context,
  actor: Actor,
  { by, from, to }: Removals,
  { dry_run = false }: { dry_run?: boolean } = {},
): Promise<Change[]> {
  return describeChange(
    context,
    actor,
    dry_run,
    async (user) => {
      const rows = await listChangesFrom(user.tx, { user_id: user.user_id, from });
      const removed = rows.filter(
        (row) => row.changed_at <= to && isRemoval(row) && appOf(readChangedBy(row)) === appOf(by),
      );
      const guids = removed.flatMap(({ guid }) => guid ?? []).toReversed();
      return { set: await loadWorkingSet(user, { guids }), more: guids };
    },
    (set, guids) => {
      for (const guid of guids) {
        const subscription = set.byGuid(guid);
        if (subscription) subscribeAgain(set, subscription);
      }
    },
  );
}

/** Changes that are deleted in one transaction. */
const PRUNE_BATCH = 1000;

/**
 * Deletes history that is older than PODKEEP_HISTORY_KEEP, a bounded number of rows in each transaction.
 * @returns how many changes were deleted
 */
export async function pruneHistory(
  { database, clock, config }: Context,
  { signal }: { signal?: AbortSignal } = {},
): Promise<number> {
  const before = clock.now() - config.history_keep;
  let pruned = 0;
  for await (const id of streamUserIds({ database }, signal)) pruned += await pruneUser(database, id, before, signal);
  return pruned;
}

async function pruneUser(
  database: Context["database"],
  user_id: string,
  before: number,
  signal: AbortSignal | undefined,
): Promise<number> {
  let pruned = 0;
  while (!signal?.aborted) {
    const [old] = await database.read((tx) => lastToPrune(tx, { user_id, before, limit: PRUNE_BATCH }));
    const to = old?.changed_at ?? null;
    if (to === null) break;
    pruned += await database.write(async (tx) => {
      await saveHistoryStart(tx, { user_id, to });
      return (await pruneRows(tx, { user_id, to })).length;
    }, user_id);
  }
  return pruned;
}
