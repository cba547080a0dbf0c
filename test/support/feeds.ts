// Subscriptions that tests add by the service, without HTTP.
import type { Actor } from "../../src/services/actor.ts";
import type { Context } from "../../src/services/context.ts";
import { addSubscriptions } from "../../src/services/subscriptions.ts";
import { validFeed } from "./feed-url.ts";

/** An actor that may do everything to one user's data. */
export const actorOf = (user_id: number): Actor => ({
  user_id,
  kind: "admin",
  id: null,
  label: "test",
  device: null,
  scope: "write",
});

/** Subscribes a user to feeds. */
export function addFeeds(context: Context, user_id: number, feed_urls: string[]) {
  const items = feed_urls.map((feed_url) => ({ feed: validFeed(feed_url), guid: null }));
  return addSubscriptions(context, actorOf(user_id), items);
}
