// Replay of a user's history, from nothing: what was subscribed after each change.
import type { Change } from "../../src/domain/history.ts";

/**
 * Replays a history.
 * @param changes oldest first
 * @returns the subscribed feed URLs at each timestamp, by the last change of each
 */
export function replay(changes: Change[]): Map<number, string[]> {
  const present = new Map<number, { feed_url: string; subscribed: boolean }>();
  const lists = new Map<number, string[]>([[0, []]]);
  for (const { subscription, what, feed_url, changed_at } of changes) {
    if (subscription === null || feed_url === null) throw new Error(`A change of nothing: ${what}`);
    const one = present.get(subscription);
    if (what === "added") present.set(subscription, { feed_url, subscribed: true });
    else if (!one) throw new Error(`${what}: there is no subscription ${subscription}`);
    else if (what === "merged") present.delete(subscription);
    else {
      one.feed_url = feed_url;
      if (what === "subscribed") one.subscribed = true;
      if (what === "unsubscribed" || what === "deleted") one.subscribed = false;
    }
    const list = [...present.values()].filter(({ subscribed }) => subscribed).map(({ feed_url }) => feed_url);
    lists.set(changed_at, list.sort());
  }
  return lists;
}

/** The list at a time on the user's clock. */
export function listAt(lists: Map<number, string[]>, clock: number): string[] {
  return [...lists].filter(([at]) => at <= clock).reduce((last, one) => (one[0] >= last[0] ? one : last))[1];
}
