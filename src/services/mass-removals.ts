// Mass removals in a user's history.
import type { HistoryTable } from "../db/schema.ts";
import type { Tx } from "../db/statement.ts";
import { appOf, type ChangedBy, isRemoval, readChangedBy } from "../domain/history.ts";
import { findMassRemovals, type MassRemoval } from "../domain/mass-removals.ts";
import { firstChangeAfter, listChangesFrom } from "../store/history.ts";
import { countSubscribed } from "../store/subscriptions.ts";

/** Users on the page, admins and the worker remove on purpose. */
export const isApp = ({ kind }: ChangedBy) => kind === "token" || kind === "session";

/** The timestamp of the first change that was made later than a wall time. */
export async function findTimestamp(tx: Tx, user_id: string, at: number): Promise<number> {
  const [first] = await firstChangeAfter(tx, { user_id, at });
  return first?.changed_at ?? Number.MAX_SAFE_INTEGER;
}

/** The mass removals by apps since a wall time, and all changes since then; both oldest first. */
export async function readMassRemovals(
  tx: Tx,
  user_id: string,
  since: number,
): Promise<{ found: MassRemoval[]; rows: HistoryTable[] }> {
  const from = await findTimestamp(tx, user_id, since);
  const rows = (await listChangesFrom(tx, { user_id, from })).toReversed();
  if (!rows.some((row) => isApp(readChangedBy(row)) && isRemoval(row))) return { found: [], rows };
  const [{ count } = { count: 0 }] = await countSubscribed(tx, { user_id });
  return { found: massRemovalsIn(rows, Number(count)), rows };
}

/**
 * The mass removals by apps in rows of the history, oldest first.
 * @param subscribed how many podcasts are subscribed after the last row
 */
export function massRemovalsIn(rows: HistoryTable[], subscribed: number): MassRemoval[] {
  const changes = rows.map((row) => {
    const { changed_at, subscription, what, before, at } = row;
    const by = readChangedBy(row);
    return { changed_at, subscription, what, before, at, actor: isApp(by) ? appOf(by) : "" };
  });
  return findMassRemovals(changes, subscribed).filter(({ actor }) => actor !== "");
}
