// A user's history: what changed, and by whom (P10).
import { timeForChanges } from "../../clock.ts";
import type { HistoryTable, Owner } from "../../db/schema.ts";
import type { Tx } from "../../db/statement.ts";
import {
  appOf,
  type Change,
  type ChangedBy,
  followMerges,
  type HistoryPosition,
  isRemoval,
  isSubscribed,
  readChangedBy,
} from "../../domain/history.ts";
import {
  findLost,
  firstChangeAfter,
  HISTORY_END,
  type HistorySpan,
  historyPosition,
  lastToPrune,
  listActsFrom,
  listChangers as listChangersOf,
  listHistoryBy,
  listHistoryNamed,
  listHistoryOf,
  listHistoryOfBy,
  listHistory as listRows,
  pruneHistory as pruneRows,
  readChanges,
  saveHistoryStart,
  spansBefore,
} from "../../store/history.ts";
import { readPages, readRows, rowsOf } from "../../store/rows.ts";
import { findByGuid, findSubscriptions } from "../../store/subscriptions.ts";
import { nextTurn } from "../../turns.ts";
import { streamUserIds } from "../accounts/users.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";

/** A change; `at` is the wall time in Unix milliseconds, `title` what the podcast is called now. */
export interface HistoryEntry extends Change {
  at: number;
  by: ChangedBy;
}

/**
 * The timestamp of the first change that was made later than a wall time.
 * @param until later wall times of changes are from a clock that was ahead
 */
export async function findTimestamp(
  tx: Tx,
  user_id: number,
  at: number,
  until = Number.MAX_SAFE_INTEGER,
): Promise<number> {
  // A timestamp is not before its wall time, as far as it follows that.
  const [first] = await firstChangeAfter(tx, { user_id, at, from: timeForChanges(at), until });
  return first?.changed_at ?? Number.MAX_SAFE_INTEGER;
}

interface HistoryQuery {
  /** The last change of the page before. */
  after?: HistoryPosition | undefined;
  /** Only changes by the app with this token id; without a token with this device; without both with this label. */
  by?: string | undefined;
  /** Only changes by this token id, device or label; without `by` and `guid`. */
  named?: string | undefined;
  /** Only changes of the subscription that has, or had, this guid, also of a lost one. */
  guid?: string | undefined;
  /** Only changes that were made later, in Unix milliseconds. */
  since?: number | undefined;
  limit: number;
}

/** Lists a user's changes, newest first. */
export function listHistory(
  { database }: Context,
  { user_id }: Actor,
  { after = HISTORY_END, since, limit, ...filters }: HistoryQuery,
): Promise<HistoryEntry[]> {
  return database.read(async (tx) => {
    const from = since === undefined ? 0 : await findTimestamp(tx, user_id, since);
    const page = { user_id, changed_at: after.changed_at, seq: after.seq, limit };
    const isFiltered = Object.values(filters).some((value) => value !== undefined);
    const rows = await (isFiltered ? filter(tx, page, filters) : listRows(tx, page));
    return rows
      .filter((row) => row.changed_at >= from)
      .map((row) => ({ ...changeOf(row), title: row.present_title ?? row.title, at: row.at, by: readChangedBy(row) }));
  });
}

/** The subscription that has, or had, a guid, also one that a restored backup lost; null if the guid is unknown. */
export async function findPodcast(tx: Tx, user_id: number, guid: string) {
  const [present] = await findByGuid(tx, { user_id, guid });
  if (present) return present;
  for await (const span of spansBefore(tx, { user_id, ...HISTORY_END })) {
    const [lost] = await findLost(tx, { ...span, guid });
    if (lost) return lost;
  }
  return null;
}

async function filter(
  tx: Tx,
  page: Parameters<typeof listRows>[1],
  { by, named, guid }: Pick<HistoryQuery, "by" | "named" | "guid">,
) {
  const of = guid === undefined ? null : await findPodcast(tx, page.user_id, guid);
  if (guid !== undefined && !of) return [];
  const list = (span: HistorySpan) => {
    if (named !== undefined) return listHistoryNamed(tx, { ...span, named });
    if (!of) return listHistoryBy(tx, { ...span, by: by ?? "" });
    const spanOf = { ...span, subscription: of.id };
    return by === undefined ? listHistoryOf(tx, spanOf) : listHistoryOfBy(tx, { ...spanOf, by });
  };
  const found: Awaited<ReturnType<typeof listRows>> = [];
  for await (const span of spansBefore(tx, page)) {
    const listPart = (after: HistoryPosition, limit: number) => list({ ...span, ...after, limit });
    found.push(...(await readRows(span, listPart, historyPosition, page.limit - found.length)));
    if (found.length === page.limit) break;
  }
  return found;
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

/**
 * Which app removed each of these subscriptions last that is there and not subscribed, as appOf() names it, by their ids.
 * Others write while the history is read.
 */
export async function findRemovers(
  { database }: Context,
  { user_id }: Actor,
  ids: Set<number>,
): Promise<Map<number, string>> {
  const rows = await database.read((tx) => findSubscriptions(tx, { user_id }, rowsOf("id", ids)));
  const left = new Set(rows.filter((row) => !isSubscribed(row)).map(({ id }) => id));
  const removers = new Map<number, string>();
  if (left.size === 0) return removers;
  for await (const changes of readChanges(database, { user_id, from: 0 })) {
    for (const row of changes) {
      const { subscription } = row;
      if (subscription === null || !isRemoval(row) || !left.delete(subscription)) continue;
      removers.set(subscription, appOf(readChangedBy(row)));
    }
    if (left.size === 0) break;
    await nextTurn();
  }
  return removers;
}

/** Changes that are deleted in one transaction. */
const PRUNE_BATCH = 1000;
/** Milliseconds of history, or of plays, that are deleted at a time: a clock that is ahead for days must not take all. */
const PRUNE_SPAN = 7 * 24 * 60 * 60 * 1000;

/** Until when to delete what is older than `before`. @param oldest when the oldest of it was; null if there is none */
export const endOfPruning = (before: number, oldest: number | null): number =>
  oldest === null ? before : Math.min(before, oldest + PRUNE_SPAN);

/**
 * Deletes the oldest week of the history that is older than PODKEEP_HISTORY_KEEP, a bounded number of rows in each
 * transaction.
 * @returns how many changes were deleted
 */
export async function pruneHistory({ database, clock, config }: Context, signal?: AbortSignal): Promise<number> {
  const before = clock.now() - config.history_keep;
  let pruned = 0;
  for await (const id of streamUserIds({ database }, signal)) pruned += await pruneUser(database, id, before, signal);
  return pruned;
}

async function pruneUser(
  database: Context["database"],
  user_id: number,
  before: number,
  signal: AbortSignal | undefined,
): Promise<number> {
  let pruned = 0;
  const [oldest] = await database.read((tx) => lastToPrune(tx, { user_id, before, limit: 1 }));
  const end = endOfPruning(before, oldest?.changed_at ?? null);
  while (!signal?.aborted) {
    const [old] = await database.read((tx) => lastToPrune(tx, { user_id, before: end, limit: PRUNE_BATCH }));
    const to = old?.changed_at ?? null;
    if (to === null) break;
    pruned += await database.write(async (tx) => {
      await saveHistoryStart(tx, { user_id, to });
      return (await pruneRows(tx, { user_id, to })).length;
    }, user_id);
  }
  return pruned;
}

/** The ids of the subscriptions that somebody with a label added, and of those that they became part of. */
export async function listAddedBy(tx: Tx, { user_id, label }: Owner & { label: string }): Promise<Set<number>> {
  const pages = readPages(
    HISTORY_END,
    (place, limit) => listActsFrom(tx, { user_id, from: 0, ...place, limit }),
    historyPosition,
  );
  const added = new Set<number | null>();
  const merges: Pick<HistoryTable, "subscription" | "merged_into">[] = [];
  for await (const page of pages)
    for (const { what, actor_label, subscription, merged_into } of page) {
      if (actor_label === label && (what === "added" || what === "subscribed")) added.add(subscription);
      if (merged_into !== null) merges.push({ subscription, merged_into });
    }
  const chainOf = followMerges(merges);
  return new Set([...added].flatMap((id) => [...chainOf(id)]));
}
