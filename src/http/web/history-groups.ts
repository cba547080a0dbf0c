// Changes of one app that belong together: a sync, or a few in a row.
import { type ChangedBy, isRemoval } from "../../domain/history.ts";
import type { HistoryEntry } from "../../services/history.ts";

export interface ChangeGroup {
  by: ChangedBy;
  /** Wall time of the newest change, in Unix milliseconds. */
  at: number;
  /** Timestamps of the oldest and the newest change. */
  from: number;
  to: number;
  /** Newest first. */
  changes: HistoryEntry[];
  removed: number;
  /** Subscribed podcasts that a restored backup did not have. */
  lost: number;
}

/** Milliseconds between changes of one group. */
const GAP = 5 * 60_000;

const sameActor = (a: ChangedBy, b: ChangedBy) =>
  a.kind === b.kind && a.id === b.id && a.label === b.label && a.device === b.device;

const isLost = ({ what, before }: HistoryEntry) => what === "lost" && before === "subscribed";

/** @param changes newest first */
export function groupChanges(changes: HistoryEntry[]): ChangeGroup[] {
  const groups: ChangeGroup[] = [];
  for (const change of changes) {
    let group = groups.at(-1);
    const oldest = group?.changes.at(-1);
    if (group && oldest && sameActor(group.by, change.by) && Math.abs(oldest.at - change.at) <= GAP) {
      group.changes.push(change);
      group.from = change.changed_at;
    } else {
      const { by, at, changed_at } = change;
      group = { by, at, from: changed_at, to: changed_at, changes: [change], removed: 0, lost: 0 };
      groups.push(group);
    }
    group.removed += Number(isRemoval(change));
    group.lost += Number(isLost(change));
  }
  return groups;
}
