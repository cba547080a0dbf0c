// Changes of one app that belong together: a sync, or a few in a row.
import { isRemoval } from "../../domain/history.ts";
import type { ChangedBy, HistoryEntry } from "../../services/history.ts";

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
}

/** Milliseconds between changes of one group. */
const GAP = 5 * 60_000;

const sameActor = (a: ChangedBy, b: ChangedBy) =>
  a.kind === b.kind && a.id === b.id && a.label === b.label && a.device === b.device;

/** @param changes newest first */
export function groupChanges(changes: HistoryEntry[]): ChangeGroup[] {
  const groups: ChangeGroup[] = [];
  for (const change of changes) {
    const group = groups.at(-1);
    const oldest = group?.changes.at(-1);
    if (group && oldest && sameActor(group.by, change.by) && Math.abs(oldest.at - change.at) <= GAP) {
      group.changes.push(change);
      group.from = change.changed_at;
      group.removed += Number(isRemoval(change));
    } else {
      const { by, at, changed_at } = change;
      groups.push({ by, at, from: changed_at, to: changed_at, changes: [change], removed: Number(isRemoval(change)) });
    }
  }
  return groups;
}
