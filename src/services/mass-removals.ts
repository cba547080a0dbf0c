// Mass removals in a user's history.
import type { Database } from "../db/database.ts";
import type { Tx } from "../db/statement.ts";
import { appOf, type ChangedBy, readChangedBy } from "../domain/history.ts";
import { type AttributedChange, findMassRemovals, type MassRemoval } from "../domain/mass-removals.ts";
import { firstChangeAfter, listActsFrom } from "../store/history.ts";
import { countSubscribed } from "../store/subscriptions.ts";
import { nextTurn } from "../turns.ts";

/** Users on the page, admins and the worker remove on purpose. */
export const isApp = ({ kind }: ChangedBy) => kind === "token" || kind === "session";

/** The timestamp of the first change that was made later than a wall time. */
export async function findTimestamp(tx: Tx, user_id: number, at: number): Promise<number> {
  const [first] = await firstChangeAfter(tx, { user_id, at });
  return first?.changed_at ?? Number.MAX_SAFE_INTEGER;
}

/** A change, and the app that made it. */
export type Act = Awaited<ReturnType<typeof listActsFrom>>[number] & AttributedChange;

type HistoryPosition = Pick<Act, "changed_at" | "seq">;

const END: HistoryPosition = { changed_at: Number.MAX_SAFE_INTEGER, seq: 0 };
/** Changes that are read before others get a turn. */
const PAGE = 500;

/** A user's latest changes from a timestamp on, oldest first, and how many podcasts are subscribed after them. */
export async function readActs(
  database: Pick<Database, "read">,
  { user_id, from, limit = Number.MAX_SAFE_INTEGER }: { user_id: number; from: number; limit?: number },
): Promise<{ acts: Act[]; subscribed: number }> {
  const acts: Act[] = [];
  let subscribed = 0;
  let end: HistoryPosition | undefined = END;
  const readPage = ({ changed_at, seq }: HistoryPosition) =>
    database.read(async (tx) => {
      if (acts.length === 0) subscribed = Number((await countSubscribed(tx, { user_id }))[0]?.count ?? 0);
      return listActsFrom(tx, { user_id, from, changed_at, seq, limit: Math.min(PAGE, limit - acts.length) });
    });
  for (; end && acts.length < limit; await nextTurn()) {
    const rows = await readPage(end);
    for (const row of rows) {
      const by = readChangedBy(row);
      acts.push({ ...row, actor: isApp(by) ? appOf(by) : "" });
    }
    end = rows.length === PAGE ? rows.at(-1) : undefined;
  }
  return { acts: acts.reverse(), subscribed };
}

/** The mass removals by apps among a user's changes. */
export const massRemovalsIn = ({ acts, subscribed }: { acts: Act[]; subscribed: number }): MassRemoval[] =>
  findMassRemovals(acts, subscribed).filter(({ actor }) => actor !== "");
