// Mass removals that pages tell of, until the podcasts are back or the user keeps the list so.
import type { Tx } from "../../db/statement.ts";
import { type ChangedBy, followMerges, isRemoval, isSubscribed, readChangedBy } from "../../domain/history.ts";
import { FEWEST_REMOVED } from "../../domain/mass-removals.ts";
import { findRemovals, HISTORY_END, readKeptRemovals, saveKeptRemovals, spansBefore } from "../../store/history.ts";
import { listSubscriptions } from "../../store/subscriptions.ts";
import { type Actor, requireWrite } from "../actor.ts";
import type { Context } from "../context.ts";
import { findTimestamp } from "./history.ts";
import { type Act, massRemovalsIn, readActs } from "./mass-removals.ts";

/** An app that removed more than half of a list of ten or more within an hour: what people see of it. */
export interface NoticedRemoval {
  by: ChangedBy;
  /** Timestamps of the first and the last removal. */
  from: number;
  to: number;
  /** Wall time of the last removal, in Unix milliseconds. */
  ended_at: number;
  /** Podcasts that it removed, of how many, and how many of them were not subscribed to again since. */
  removed: number;
  of: number;
  missing: number;
}

const isReturn = ({ what }: Act) => what === "subscribed" || what === "added";

/** How many of the latest changes are examined for mass removals. */
const LATEST = 10_000;

/** Whether apps took as many podcasts off the list from a timestamp on as a mass removal has. */
async function hasRemovals(tx: Tx, user_id: number, from: number): Promise<boolean> {
  let left = FEWEST_REMOVED;
  for await (const span of spansBefore(tx, { user_id, ...HISTORY_END }, from)) {
    left -= (await findRemovals(tx, { ...span, limit: left })).length;
    if (left === 0) return true;
  }
  return false;
}

/** The mass removals since a wall time that the user didn't keep, and of which something is still missing, newest first. */
export async function listMassRemovals(
  { database }: Context,
  { user_id }: Actor,
  since: number,
): Promise<NoticedRemoval[]> {
  const from = await database.read(async (tx) => {
    const [kept] = await readKeptRemovals(tx, { user_id });
    return Math.max(await findTimestamp(tx, user_id, since), (kept?.removals_kept ?? 0) + 1);
  });
  if (!(await database.read((tx) => hasRemovals(tx, user_id, from)))) return [];
  const read = await readActs(database, { user_id, from, limit: LATEST });
  const found = massRemovalsIn(read);
  if (found.length === 0) return [];
  const { acts } = read;
  const present = await database.read((tx) => listSubscriptions(tx, { user_id }));
  const live = new Set(present.filter(isSubscribed).map(({ id }) => id));
  const chainOf = followMerges(acts);
  return found.toReversed().flatMap(({ from, to, removed, of }) => {
    const later = acts.filter((act) => act.changed_at > to.changed_at && (isReturn(act) || isRemoval(act)));
    // What was removed since was there again, or is another one that putBack() leaves.
    const changed = new Set(later.map(({ subscription }) => subscription));
    const isMissing = (id: number) =>
      chainOf(id)
        .values()
        .every((one) => !live.has(one) && !changed.has(one));
    const missing = [...removed].filter(isMissing).length;
    if (missing === 0) return [];
    const times = { from, to: to.changed_at, ended_at: to.at };
    return [{ by: readChangedBy(to), ...times, removed: removed.size, of, missing }];
  });
}

/** Keeps the list as apps left it: mass removals up to a timestamp are not noticed any more. */
export async function keepRemovals({ database }: Context, actor: Actor, to: number): Promise<void> {
  requireWrite(actor);
  const { user_id } = actor;
  await database.write((tx) => saveKeptRemovals(tx, { user_id, to }), user_id);
}
