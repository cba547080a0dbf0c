// The change feed: what changed after a stamp, page by page (P2).

import type { SubscriptionTable } from "../db/schema.ts";
import type { Tx } from "../db/statement.ts";
import type {
  Cursor,
  Subscription,
  SubscriptionPage,
  SubscriptionQuery,
} from "../http/openpodcast/schemas/subscriptions.ts";
import { countRetired, listGuidsOf } from "../store/guids.ts";
import { countChanged, findPlace, listChanged } from "../store/subscriptions.ts";
import type { Context } from "./context.ts";
import { type Read, readAt, type Seen } from "./reads.ts";
import { describe } from "./subscriptions.ts";

const DEFAULT_PER_PAGE = 50;

/** A page without its links, which only HTTP can make. */
export interface Changes extends Omit<SubscriptionPage, "next" | "previous"> {
  /** Where the next page goes on; null on the last one. */
  next: Cursor | null;
  /** Number of the page before; null on the first one. */
  previous: number | null;
}

interface Item {
  row: Omit<SubscriptionTable, "user_id">;
  /** The guid under which the item stands. */
  guid: string;
}

/** Lists what changed later than `since`, oldest change first, tombstones included. */
export function listChanges(
  context: Context,
  user_id: string,
  query: SubscriptionQuery,
  seen: Seen,
): Promise<Read<Changes>> {
  const since = query.since ?? -1;
  const page = query.page ?? 1;
  const per_page = Math.min(query.per_page ?? DEFAULT_PER_PAGE, context.config.max_per_page);
  return readAt(context, user_id, seen, async (tx, clock) => {
    if (since >= clock)
      return { total: 0, page, per_page, next: null, previous: page > 1 ? 1 : null, subscriptions: [] };
    const offset = query.cursor ? 0 : (page - 1) * per_page;
    const start = query.cursor ?? (offset === 0 ? null : await placeOf(tx, user_id, since, offset));
    const found = start === undefined ? [] : await listItems(tx, user_id, since, start, query.cursor ? 1 : 0, per_page);
    const items = found.slice(0, per_page);
    const last = found.length > per_page ? items.at(-1) : undefined;
    const whole = offset === 0 && !query.cursor && !last;
    const total = whole ? items.length : await countItems(tx, user_id, since);
    const pages = Math.max(1, Math.ceil(total / per_page));
    return {
      total,
      page,
      per_page,
      next: last ? { changed_at: last.row.changed_at, guid: last.guid } : null,
      previous: page > 1 ? Math.min(page - 1, pages) : null,
      subscriptions: items.map(({ row, guid }): Subscription => describe(row, guid)),
    };
  });
}

async function countItems(tx: Tx, user_id: string, since: number): Promise<number> {
  const changed = (await countChanged(tx, { user_id, since }))[0]?.count ?? 0;
  const retired = (await countRetired(tx, { user_id, since }))[0];
  return Number(changed) + Number(retired?.guids ?? 0) - Number(retired?.subscriptions ?? 0);
}

async function placeOf(tx: Tx, user_id: string, since: number, offset: number): Promise<Cursor | undefined> {
  const [place] = await findPlace(tx, { user_id, since, offset });
  return place && { changed_at: place.changed_at, guid: place.retired ?? "" };
}

/**
 * Items from `start` on, more than `per_page` where there are; a subscription stands once for each guid that was retired
 * after `since`.
 * @param skip 1 to leave out the item at `start` itself
 */
async function listItems(
  tx: Tx,
  user_id: string,
  since: number,
  start: Cursor | null,
  skip: 0 | 1,
  per_page: number,
): Promise<Item[]> {
  const from = Math.max(since + 1, start?.changed_at ?? 0);
  const rows = await listChanged(tx, { user_id, from, limit: per_page + 1 + skip });
  const replaced = rows.filter((row) => row.guid_changed !== null && row.guid_changed > since);
  const guids = await listGuidsOf(tx, { user_id }, replaced);
  const retired = Map.groupBy(
    guids.filter((guid) => guid.retired_at !== null && guid.retired_at > since),
    (guid) => guid.subscription,
  );
  const items: Item[] = [];
  for (const row of rows) {
    const known = retired.get(row.id);
    if (!known) items.push({ row, guid: row.guid });
    else for (const { guid } of known.toSorted((a, b) => (a.guid < b.guid ? -1 : 1))) items.push({ row, guid });
  }
  if (!start) return items;
  return items.filter(({ row, guid }) => {
    if (row.changed_at !== start.changed_at) return true;
    return skip ? guid > start.guid : guid >= start.guid;
  });
}
