// The list of the published Open Podcast API, as an app reads it: page by page, with what changed since a time.
import type { z } from "zod";
import { Failure, requireSuccess } from "../expect.ts";
import { followLinks, resolveLink } from "../links.ts";
import { LINKS, type Prober } from "../prober.ts";
import { Listed, LoosePage, Named, Page, type PageOf, Subscription } from "./schemas.ts";

/** @param request sends a request of one app */
export function listOf(prober: Prober, request: Prober["request"]) {
  // Malformed items of earlier checks and runs are not what this check is about.
  const isOwn = (item: unknown) => prober.isOurs(Named.safeParse(item).data?.feed_url ?? "");
  const isToRead = (item: unknown) => isOwn(item) || Subscription.safeParse(item).success;
  const OwnPage = Listed.transform((body) => ({ ...body, subscriptions: body.subscriptions.filter(isToRead) })).pipe(
    Page,
  );

  /** @param path or a link of another page */
  async function readPage<T>(path: string, shape: z.ZodType<T>): Promise<T> {
    const answer = await request("GET", path);
    if (!path.startsWith("/") && answer.status >= 300)
      throw new Failure(`A link of the list leads to ${path}, which is answered ${answer.status}`, LINKS);
    return requireSuccess(answer).json(shape);
  }
  const page = (path: string) => readPage(path, OwnPage);

  /** The URL of a link, which may be relative to the list. */
  const resolve = (link: string) => resolveLink(link, `${prober.target.url}/subscriptions`).href;
  const follow = (link: string) => page(resolve(link));

  /**
   * All items changed after a timestamp, page by page.
   * @param per_page null leaves it to the server; many by default, because earlier runs leave what they have unsubscribed
   * @param between what happens after each page
   */
  const changes = (since?: string, per_page: number | null = 500, between?: (page: number) => Promise<void>) =>
    readPages(OwnPage, since, per_page, between);

  async function readPages<Item>(
    shape: z.ZodType<PageOf<Item>>,
    since: string | undefined,
    per_page: number | null,
    between?: (page: number) => Promise<void>,
  ): Promise<Item[]> {
    const items: Item[] = [];
    const query = new URLSearchParams({ ...(per_page && { per_page: `${per_page}` }), ...(since && { since }) });
    let hasNext = false;
    await followLinks(`/subscriptions${query.size > 0 ? `?${query}` : ""}`, async (path, pages) => {
      const read = await readPage(path, shape);
      items.push(...read.subscriptions);
      hasNext ||= read.next != null;
      // `next` is optional: without it a full page has another one after it, by number.
      const isFull = read.subscriptions.length > 0 && read.subscriptions.length === read.per_page;
      const isLast = hasNext || (pages === 0 && read.total === items.length);
      query.set("page", `${pages + 2}`);
      const numbered = isFull && !isLast ? `/subscriptions?${query}` : undefined;
      const next = read.next == null ? numbered : resolve(read.next);
      if (next !== undefined) await between?.(pages);
      return next;
    });
    return items;
  }

  /** The changes of this check's feeds. */
  const ours = async (...query: Parameters<typeof changes>) =>
    (await changes(...query)).filter(({ feed_url }) => prober.isOurs(feed_url));

  /** This check's feeds that are subscribed, each with the guid that it has now. */
  async function subscribed() {
    const all = (await ours()).filter(({ is_subscribed, deleted }) => is_subscribed && deleted === undefined);
    const now = all.map((one) => ({ feed_url: one.feed_url, guid: presentGuid(one) }));
    return now.filter((one, index) => now.findIndex((other) => Bun.deepEquals(one, other)) === index);
  }

  return {
    page,
    resolve,
    follow,
    changes,
    /** What is subscribed, for cleaning up, also if the rest of it is wrong. */
    async removable() {
      const all = await readPages(LoosePage, undefined, 500);
      return all.filter(
        ({ is_subscribed, deleted }) => is_subscribed !== false && is_subscribed !== 0 && deleted == null,
      );
    },
    ours,
    subscribed,
    /** What the list of changes says of a subscription to an app that has known it by a guid since it was added. */
    toldOf: async (guid: string, added: string) =>
      (await ours(justBefore(added))).find((item) => item.guid.toLowerCase() === guid.toLowerCase()),
    /** What is subscribed under one feed URL of this check. */
    subscribedTo: async (feed_url: string) => (await subscribed()).filter((one) => one.feed_url === feed_url),
  };
}

export const feedsOf = (items: { feed_url: string }[]): string[] => items.map(({ feed_url }) => feed_url);

/** The guid that a subscription has now: a server may keep the first one in `guid`, also to an app that asks by another. */
export const presentGuid = ({ guid, new_guid = guid }: Subscription): string => new_guid.toLowerCase();

/** The latest timestamp of some items. */
export const latestOf = (items: Subscription[]): string =>
  items
    .flatMap(({ subscription_changed, guid_changed, deleted }) => [subscription_changed, guid_changed, deleted])
    .filter((one) => one !== undefined)
    .sort((a, b) => Date.parse(a) - Date.parse(b))
    .at(-1) ?? "1970-01-01T00:00:00Z";

/** A moment before a time, because whether `since` has its own moment is asked by one check alone. */
export const justBefore = (time: string): string => new Date(Date.parse(time) - 1).toISOString();
