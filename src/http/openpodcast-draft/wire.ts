// Writing what the draft has.
import type { Context } from "hono";
import type { ShownEntity } from "../../services/openpodcast-draft/sync-entities.ts";
import type { HttpEnv } from "../env.ts";
import type { Shared } from "../shared.ts";
import type { Entity } from "./schemas.ts";

/** @param time Unix milliseconds */
export const writeTime = (time: number) => new Date(time).toISOString();

export function writeEntity({ sync_id, guid, feed_url, subscribed_at, unsubscribed_at }: ShownEntity): Entity {
  return {
    sync_id,
    guid,
    feed_url,
    subscribed_at: writeTime(subscribed_at),
    ...(unsubscribed_at !== null && { unsubscribed_at: writeTime(unsubscribed_at) }),
  };
}

/** The URL of the page that begins at `since`, with the request's other parameters. */
export function pageUrl(c: Context<HttpEnv>, { forwarded }: Shared, since: string): string {
  const url = new URL(forwarded.baseUrlOf(c) + c.req.path);
  url.search = new URL(c.req.url).search;
  url.searchParams.set("since", since);
  return url.href;
}
