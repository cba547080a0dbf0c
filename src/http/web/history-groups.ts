// Changes of one app that belong together: a sync, or a few in a row.
import { type ChangedBy, type HistoryPosition, isRemoval, type What } from "../../domain/history.ts";
import type { HistoryEntry } from "../../services/subscriptions/history.ts";
import { takeTurns } from "../../turns.ts";

export interface ChangeGroup {
  by: ChangedBy;
  /** Wall times of the newest and the oldest change, in Unix milliseconds. */
  at: number;
  begun_at: number;
  /** Timestamps of the oldest and the newest change. */
  from: number;
  to: number;
  /** How many changes of each kind. */
  counts: Map<What, number>;
  /** Newest first; of a group that is longer than a page, the newest. */
  changes: HistoryEntry[];
  /** Ids of the subscriptions that were removed. */
  removed: Set<number>;
  /** Subscribed podcasts that a restored backup did not have. */
  lost: number;
}

interface GroupedPage {
  /** Newest first; the last one is whole, too. */
  groups: ChangeGroup[];
  /** Where the next page starts; null on the last one. */
  next: HistoryPosition | null;
}

/** Milliseconds between changes of one group. */
const GAP = 5 * 60_000;

const isPartOf = (group: ChangeGroup, { by, at }: HistoryEntry) =>
  Bun.deepEquals(group.by, by) && Math.abs(group.begun_at - at) <= GAP;

const isLost = ({ what, before }: HistoryEntry) => what === "lost" && before === "subscribed";

const newGroup = ({ by, at, changed_at }: HistoryEntry): ChangeGroup => ({
  by,
  at,
  begun_at: at,
  from: changed_at,
  to: changed_at,
  counts: new Map(),
  changes: [],
  removed: new Set(),
  lost: 0,
});

/**
 * Groups changes until so many are listed, and then to the end of their group.
 * @param read gives up to `size` changes that come after a position, newest first; the first ones without one
 */
export async function groupChanges(
  read: (after: HistoryPosition | undefined) => Promise<HistoryEntry[]>,
  { after, size }: { after?: HistoryPosition | undefined; size: number },
): Promise<GroupedPage> {
  const giveTurn = takeTurns();
  const groups: ChangeGroup[] = [];
  let listed = 0;
  for (let last = after; ; ) {
    const changes = await read(last);
    for (const change of changes) {
      let group = groups.at(-1);
      if (!group || !isPartOf(group, change)) {
        if (listed >= size) return { groups, next: last ?? null };
        group = newGroup(change);
        groups.push(group);
      }
      addChange(group, change, listed < size);
      listed++;
      last = change;
    }
    if (changes.length < size) return { groups, next: null };
    await giveTurn();
  }
}

function addChange(group: ChangeGroup, change: HistoryEntry, isListed: boolean): void {
  const { what, at, changed_at, subscription } = change;
  group.begun_at = at;
  group.from = changed_at;
  group.counts.set(what, (group.counts.get(what) ?? 0) + 1);
  group.lost += Number(isLost(change));
  if (isRemoval(change) && subscription !== null) group.removed.add(subscription);
  if (isListed) group.changes.push(change);
}
