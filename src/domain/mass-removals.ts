// Apps that take most of a list away.
import { type Change, isRemoval } from "./history.ts";

/** In milliseconds. */
export const MASS_REMOVAL_WINDOW = 60 * 60 * 1000;
const SMALLEST_LIST = 10;

/** The least that can be more than half of a list of ten. */
export const FEWEST_REMOVED = SMALLEST_LIST / 2 + 1;

/** Whether that is more than half of a list of ten or more. */
const isMassRemoval = (removed: number, before: number) => before >= SMALLEST_LIST && removed * 2 > before;

/** A change, and who made it when. */
export interface AttributedChange extends Pick<Change, "changed_at" | "subscription" | "what" | "before"> {
  at: number;
  /** The app, as appOf() names it; empty if no app made the change. */
  actor: string;
}

export interface MassRemoval<C extends AttributedChange> {
  /** Timestamp of the first change that belongs to it. */
  from: number;
  /** The last one. */
  to: C;
  /** Timestamp of the change that made it one: from it on, more than half of the list was removed. */
  noticed_at: number;
  /** Ids of the subscriptions that were removed. */
  removed: Set<number>;
  /** Subscribed podcasts before it; as many as were removed if it also took what came since. */
  of: number;
}

/** How a change moved the number of subscribed podcasts. */
function differenceOf({ what, before }: Pick<Change, "what" | "before">): -1 | 0 | 1 {
  if (what === "added" || what === "subscribed") return 1;
  const gone = what === "unsubscribed" || what === "deleted" || what === "merged" || what === "lost";
  return gone && before === "subscribed" ? -1 : 0;
}

interface Removal {
  subscription: number;
  changed_at: number;
  at: number;
  /** Subscribed podcasts before it. */
  count: number;
}

/** The removals of one app in an hour. */
interface RecentRemovals {
  removals: Removal[];
  /** The earliest `at` of them. */
  earliest: number;
}

/** Adds a removal, and leaves out those that are an hour older. */
function addRemoval(recent: RecentRemovals | undefined, removal: Removal): RecentRemovals {
  const { at } = removal;
  if (!recent) return { removals: [removal], earliest: at };
  const { removals, earliest } = recent;
  const isRecent = (one: { at: number }) => at - one.at <= MASS_REMOVAL_WINDOW;
  const kept = isRecent({ at: earliest }) ? removals : removals.filter(isRecent);
  kept.push(removal);
  const first = kept === removals ? earliest : kept.reduce((least, one) => Math.min(least, one.at), at);
  return { removals: kept, earliest: Math.min(first, at) };
}

/**
 * Finds where one app removed more than half of a list within an hour.
 * @param changes oldest first
 * @param subscribed how many podcasts are subscribed after the last change
 * @returns oldest first
 */
export function findMassRemovals<C extends AttributedChange>(changes: C[], subscribed: number): MassRemoval<C>[] {
  let count = subscribed - changes.reduce((sum, change) => sum + differenceOf(change), 0);
  const found: MassRemoval<C>[] = [];
  const recent = new Map<string, RecentRemovals>();
  const open = new Map<string, MassRemoval<C>>();
  for (const change of changes) {
    const before = count;
    count += differenceOf(change);
    const { actor, subscription, changed_at, at } = change;
    if (subscription === null || !isRemoval(change)) continue;
    const running = open.get(actor);
    if (running && at - running.to.at <= MASS_REMOVAL_WINDOW) {
      running.to = change;
      running.removed.add(subscription);
      running.of = Math.max(running.of, running.removed.size);
      continue;
    }
    const window = addRemoval(recent.get(actor), { subscription, changed_at, at, count: before });
    recent.set(actor, window);
    const [first] = window.removals;
    // Before the set is made: this runs at every removal.
    if (!first || !isMassRemoval(window.removals.length, first.count)) continue;
    const removed = new Set(window.removals.map((one) => one.subscription));
    if (!isMassRemoval(removed.size, first.count)) continue;
    const one = { from: first.changed_at, to: change, noticed_at: changed_at, removed, of: first.count };
    open.set(actor, one);
    found.push(one);
    recent.delete(actor);
  }
  return found;
}
