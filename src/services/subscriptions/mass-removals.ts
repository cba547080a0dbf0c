// Mass removals in a user's history.
import type { Database } from "../../db/database.ts";
import { appOf, type ChangedBy, type HistoryPosition, readChangedBy } from "../../domain/history.ts";
import { type AttributedChange, findMassRemovals, type MassRemoval } from "../../domain/mass-removals.ts";
import { HISTORY_END, historyPosition, listActsFrom } from "../../store/history.ts";
import { readPages } from "../../store/rows.ts";
import { countSubscribed } from "../../store/subscriptions.ts";
import { nextTurn } from "../../turns.ts";

/** Users on the page, admins and the worker remove on purpose. */
export const isApp = ({ kind }: ChangedBy) => kind === "token" || kind === "session";

/** A change, and the app that made it. */
export type Act = Awaited<ReturnType<typeof listActsFrom>>[number] & AttributedChange;

/** A user's latest changes from a timestamp on, oldest first, and how many podcasts are subscribed after them. */
export async function readActs(
  database: Pick<Database, "read">,
  { user_id, from, limit = Number.MAX_SAFE_INTEGER }: { user_id: number; from: number; limit?: number },
): Promise<{ acts: Act[]; subscribed: number }> {
  const acts: Act[] = [];
  let subscribed = 0;
  const readPage = async ({ changed_at, seq }: HistoryPosition, limit: number) => {
    await nextTurn();
    return database.read(async (tx) => {
      if (acts.length === 0) subscribed = await countSubscribed(tx, { user_id });
      return listActsFrom(tx, { user_id, from, changed_at, seq, limit });
    });
  };
  for await (const rows of readPages(HISTORY_END, readPage, historyPosition, limit)) {
    for (const row of rows) {
      const by = readChangedBy(row);
      acts.push({ ...row, actor: isApp(by) ? appOf(by) : "" });
    }
  }
  return { acts: acts.reverse(), subscribed };
}

/** The mass removals by apps among a user's changes. */
export const massRemovalsIn = ({ acts, subscribed }: { acts: Act[]; subscribed: number }): MassRemoval<Act>[] =>
  findMassRemovals(acts, subscribed).filter(({ to }) => to.actor !== "");
