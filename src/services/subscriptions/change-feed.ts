// The change feed: what changed after a timestamp, oldest change first, page by page (P2).
import type { Tx } from "../../db/statement.ts";
import { countChanged, countRetired, listChanged } from "../../store/change-feed.ts";
import { listRetiredFrom, listRetiredSince } from "../../store/guids.ts";
import { PAGE } from "../../store/rows.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import { clockIn } from "../transact.ts";

/** The place of an item in the change feed. */
export interface ChangePosition {
  changed_at: number;
  guid: string;
}

interface ChangeQuery {
  /** Only what changed later; null for everything. */
  since: number | null;
  page: number;
  per_page: number;
  /** The last item of the page before; without it, the page is found by its number. */
  after: ChangePosition | null;
}

/** A subscription, under the guid by which an app may know it. */
interface ChangedItem {
  row: ChangedRow;
  guid: string;
}

type ChangedRow = Awaited<ReturnType<typeof listChanged>>[number];

export interface ChangePage {
  /** The user's clock at which the page was read. */
  clock: number;
  /** Items on all pages. */
  total: number;
  items: ChangedItem[];
  /** The last item; null on an empty page. */
  end: ChangePosition | null;
  /** The last item, if more follow. */
  next: ChangePosition | null;
  /** Number of the page before; null on the first one. */
  previous: number | null;
}

/**
 * Lists what changed after a timestamp, deleted subscriptions included.
 * @param known the user's clock a moment ago: if it is not later than `since`, nothing is read
 * @throws DomainError "unauthorized" as clockIn() does
 */
export async function listChanges(
  { database }: Context,
  { user_id }: Actor,
  query: ChangeQuery,
  known = Number.MAX_SAFE_INTEGER,
): Promise<ChangePage> {
  const since = query.since ?? -1;
  const empty = { total: 0, items: [], end: null, next: null, previous: query.page > 1 ? 1 : null };
  if (since >= known) return { clock: known, ...empty };
  return database.read(
    async (tx) => {
      const clock = await clockIn(tx, user_id);
      return { clock, ...(since >= clock ? empty : await readPage(tx, user_id, since, query)) };
    },
    async (tx, { clock }) => clock === (await clockIn(tx, user_id)),
  );
}

async function readPage(
  tx: Tx,
  user_id: number,
  since: number,
  { page, per_page, after }: ChangeQuery,
): Promise<Omit<ChangePage, "clock">> {
  const offset = after ? 0 : (page - 1) * per_page;
  const start = after ?? (offset === 0 ? null : await findItem(tx, user_id, since, offset));
  const found = start === undefined ? [] : await listItems(tx, user_id, since, start, per_page);
  const items = found.slice(0, per_page);
  const last = items.at(-1);
  const end = last ? changePosition(last) : null;
  const next = found.length > per_page ? end : null;
  const complete = offset === 0 && !after && !next;
  const total = complete ? items.length : await countItems(tx, user_id, since);
  const pages = Math.max(1, Math.ceil(total / per_page));
  return {
    total,
    items,
    end,
    next,
    previous: page > 1 ? Math.min(page - 1, pages) : null,
  };
}

const changePosition = ({ row, guid }: ChangedItem): ChangePosition => ({ changed_at: row.changed_at, guid });

/** The place of the `nth` item, from 1; undefined if there are fewer. Reads all before it, a page at a time. */
async function findItem(tx: Tx, user_id: number, since: number, nth: number): Promise<ChangePosition | undefined> {
  let place: ChangePosition | undefined;
  for (let left = nth; left > 0; ) {
    const items = await listItems(tx, user_id, since, place ?? null, Math.min(left, PAGE));
    const last = items.slice(0, left).at(-1);
    if (!last) return undefined;
    place = changePosition(last);
    left -= items.length;
  }
  return place;
}

async function countItems(tx: Tx, user_id: number, since: number): Promise<number> {
  const changed = (await countChanged(tx, { user_id, since }))[0]?.count ?? 0;
  const retired = (await countRetired(tx, { user_id, since }))[0];
  return changed + (retired?.guids ?? 0) - (retired?.subscriptions ?? 0);
}

/** Retired guids that are read at once, of all subscriptions of a page. If there are more, it reads those of one after the other. */
const FEW = 512;

/**
 * Reads items after `start`, more than `per_page` if there are more; a subscription comes once for each guid that was
 * retired after `since`.
 * @param start null for the first items
 */
async function listItems(
  tx: Tx,
  user_id: number,
  since: number,
  start: ChangePosition | null,
  per_page: number,
): Promise<ChangedItem[]> {
  const from = Math.max(since + 1, start?.changed_at ?? 0);
  const rows = await listChanged(tx, { user_id, from, limit: per_page + (start ? 2 : 1) });
  const wasReplaced = ({ guid_changed }: ChangedRow) => guid_changed !== null && guid_changed > since;
  const few = await listRetiredSince(tx, { user_id, since, limit: FEW }, rows.filter(wasReplaced));
  const retired = few.length < FEW ? Map.groupBy(few, (guid) => guid.subscription) : null;
  const listGuids = async (row: ChangedRow): Promise<{ guid: string }[]> => {
    if (!wasReplaced(row)) return [];
    if (retired) return (retired.get(row.id) ?? []).toSorted((a, b) => (a.guid < b.guid ? -1 : 1));
    const first = row.changed_at === start?.changed_at ? start.guid : "";
    return listRetiredFrom(tx, { user_id, subscription: row.id, since, from: first, limit: per_page + 2 });
  };
  const items: ChangedItem[] = [];
  for (const row of rows) {
    if (items.length > per_page) break;
    const guids = await listGuids(row);
    for (const { guid } of guids.length > 0 ? guids : [row]) {
      if (row.changed_at !== start?.changed_at || guid > start.guid) items.push({ row, guid });
    }
  }
  return items;
}
