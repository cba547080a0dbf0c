// Feed URLs of tests.
import { type FeedUrl, readFeedUrl } from "../../src/domain/feed-url.ts";

/** Reads a feed URL that is valid. */
export function validFeed(feed_url: string): FeedUrl {
  const feed = readFeedUrl(feed_url);
  if ("message" in feed) throw new Error(`${feed_url}: ${feed.message}`);
  return feed;
}
