// Parts of large requests: each is a transaction, so that no other user waits for the whole.
import { readFeedUrl } from "../domain/feed-url.ts";
import type { Report } from "../domain/reports.ts";
import { inDoubt } from "../errors.ts";
import { findFeeds } from "../store/feeds.ts";
import { findGuids } from "../store/guids.ts";
import { rowsOf } from "../store/rows.ts";
import { mapInTurns } from "../turns.ts";
import type { UserTx } from "./transact.ts";

/** Items of a part; one with a long URL counts for each kilobyte of it. */
const PART = 128;

/** Splits items, in their order. @param groupOf those of one group stay together */
export function inParts<T>(
  items: readonly T[],
  urlOf: (item: T) => string,
  groupOf: (item: T) => unknown = (item) => item,
): T[][] {
  const parts: T[][] = [];
  let left = 0;
  for (const group of Map.groupBy(items, groupOf).values()) {
    const size = group.reduce((sum, item) => sum + Math.ceil(urlOf(item).length / 1024), 0);
    if (size <= left) parts.at(-1)?.push(...group);
    else parts.push(group);
    left = (size <= left ? left : PART) - size;
  }
  return parts;
}

/** Waits for a part. @param isFirst whether nothing was done before @throws as `part` does; the error says if something was */
export const asPart = <T>(part: Promise<T>, isFirst: boolean): Promise<T> =>
  part.catch((error) => {
    throw isFirst ? error : inDoubt(error);
  });

const urlOf = ({ feed_url }: Report) => feed_url;

/** Splits the reports of an upload. Those of one subscription stay together: a feed that is removed and added has moved. */
export async function splitReports({ tx, user_id }: UserTx, reports: Report[]): Promise<Report[][]> {
  if (inParts(reports, urlOf).length <= 1) return [reports];
  const leads = new Map((await findFeeds(tx, { user_id }, reports)).map((row) => [row.feed, row.subscription]));
  const guids = new Map<string, string>();
  await mapInTurns(reports, ({ feed, feed_url }) => {
    const url = leads.has(feed) ? null : readFeedUrl(feed_url);
    if (url && "hash" in url) guids.set(url.computed_guid, feed);
  });
  const computed = rowsOf("guid", guids.keys());
  for (const { guid, subscription } of await findGuids(tx, { user_id }, computed)) {
    leads.set(guids.get(guid) ?? "", subscription);
  }
  return inParts(reports, urlOf, ({ feed }) => leads.get(feed) ?? feed);
}
