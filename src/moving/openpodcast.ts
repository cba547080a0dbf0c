// Servers with the subscriptions of the Open Podcast API. It has no episodes yet.
import { z } from "zod";
import { type Moving, nothingFrom } from "../domain/moving-in.ts";
import { parseUrl } from "../domain/url.ts";
import { DomainError } from "../errors.ts";
import { type Remote, readAnswer, readJson } from "./remote.ts";

const MOST_PAGES = 2000;
const MOST_FEEDS = 50_000;

const Page = z.object({
  subscriptions: z.array(
    z.object({
      feed_url: z.string(),
      guid: z.guid().transform((guid) => guid.toLowerCase()),
      new_guid: z.guid().nullish(),
      is_subscribed: z.boolean().catch(true),
      deleted: z.unknown().optional(),
    }),
  ),
  next: z.string().nullish(),
});

/** Whether a server has this API, and what it says of the account. */
export async function findOpenPodcast(remote: Remote) {
  const answer = await remote.send("/subscriptions?per_page=500");
  return { isFound: answer.status === 401 || Page.safeParse(readJson(answer)).success, answer };
}

/** @throws DomainError "unauthorized", "unavailable", "invalid", "too_large" */
export async function readOpenPodcast(remote: Remote): Promise<Moving> {
  const feeds = new Map<string, Moving["feeds"][number]>();
  const asked = new Set<string>();
  let { answer } = await findOpenPodcast(remote);
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const { subscriptions, next } = readAnswer(remote, answer, Page, "subscriptions", "the Open Podcast API");
    for (const { feed_url, guid, new_guid, is_subscribed, deleted } of subscriptions) {
      feeds.delete(guid);
      const present = new_guid?.toLowerCase() ?? guid;
      if (is_subscribed && !deleted) feeds.set(present, { feed_url, title: null, guid: present });
      else feeds.delete(present);
    }
    if (feeds.size > MOST_FEEDS)
      throw new DomainError("too_large", `${remote.host} has more than ${MOST_FEEDS} podcasts`);
    if (!next) return { ...nothingFrom(remote.host), feeds: [...feeds.values()] };
    const path = pathOf(remote, next);
    if (asked.has(path))
      throw new DomainError("invalid", `${remote.host} links to ${path} twice: its pages have no end`);
    asked.add(path);
    answer = await remote.send(path);
  }
  throw new DomainError("too_large", `${remote.host} gives its podcasts in more than ${MOST_PAGES} pages`);
}

/** Only the query of the link: the password goes to no other place. */
function pathOf({ server }: Remote, next: string): string {
  return `/subscriptions${parseUrl(next, server.href)?.search ?? ""}`;
}
