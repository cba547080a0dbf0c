// Feed URLs that somebody typed.
import { type FeedUrl, readFeedUrl, reasonOfRefusal, takeFeedUrl } from "../../src/domain/feed-url.ts";
import { maskText } from "../../src/domain/readable-url.ts";
import { DomainError } from "../../src/errors.ts";

/**
 * Reads an argument, or the value of an option with this name.
 * @throws DomainError "invalid", without what may be a secret
 */
export function readTypedFeed(text: string, option?: string): FeedUrl {
  const feed = readFeedUrl(takeFeedUrl(text));
  if ("hash" in feed) return feed;
  const typed = option ? `${option} "${maskText(text)}"` : `"${maskText(text)}"`;
  throw new DomainError(
    "invalid",
    `${typed} is not a feed URL: ${reasonOfRefusal(feed)} (example: https://example.org/feed.xml)`,
  );
}
