// Subscriptions that tests add by the service, without HTTP.
import { actAsUser } from "../../src/services/actor.ts";
import type { Context } from "../../src/services/context.ts";
import { addSubscriptions } from "../../src/services/subscriptions/subscriptions.ts";
import { validFeed } from "./feed-url.ts";

/** Subscribes a user to feeds. */
export function addFeeds(context: Context, user_id: number, feed_urls: string[]) {
  const items = feed_urls.map((feed_url) => ({ feed: validFeed(feed_url), guid: null }));
  return addSubscriptions(context, actAsUser(user_id), items);
}
