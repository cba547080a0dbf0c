// Feeds that can't be read any more.
import type { App } from "../app.ts";
import { maskFeedUrl } from "../domain/readable-url.ts";
import { listFailingFeeds } from "../services/subscriptions/feed-lookups.ts";
import { type Finding, ok, warning } from "./finding.ts";

const MONTH = 30 * 24 * 60 * 60 * 1000;
/** Feeds that are named. */
const MOST_NAMED = 10;

export async function checkFeeds(app: App): Promise<Finding[]> {
  if (app.config.feed_lookup === "off") return [];
  const failing = await listFailingFeeds(app, app.clock.now() - MONTH);
  if (failing.length === 0) return [ok("feeds", "none has failed for a month")];
  const named = failing.slice(0, MOST_NAMED).map(({ feed_url, reason }) => `${maskFeedUrl(feed_url)} (${reason})`);
  const more = failing.length > named.length ? `, and ${failing.length - named.length} more` : "";
  const advice = "podkeep feed list USER --failing lists a user's; the podcast may have ended or moved";
  return [warning("feeds", `${failing.length} failing for a month: ${named.join(", ")}${more}`, advice)];
}
