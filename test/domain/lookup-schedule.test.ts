// When feeds are looked up again, and which announced moves count.
import { expect, test } from "bun:test";
import { hashFeedUrl } from "../../src/domain/feed-url.ts";
import {
  countMove,
  HORIZON,
  hostPause,
  isSettled,
  moveTarget,
  timeAfterFailure,
  timeAfterHost,
  timeAfterSuccess,
} from "../../src/domain/lookup-schedule.ts";

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;
const NOW = Date.parse("2026-11-21T00:00:00Z");
const feeds = Array.from({ length: 1000 }, (_, n) => hashFeedUrl(`https://${n}.example/`));

test("feeds that were read together are read again on the whole eighth day", () => {
  const hours = feeds.map((feed) => Math.floor((timeAfterSuccess(NOW, feed) - NOW) / HOUR));
  expect([Math.min(...hours), Math.max(...hours)]).toEqual([7 * 24, 8 * 24 - 1]);
  const most = Math.max(...[...Map.groupBy(hours, (hour) => hour).values()].map((group) => group.length));
  expect(most).toBeLessThan(1000 / 10);
});

test("no server can put a feed off for longer than the worker waits", () => {
  for (const asked of [YEAR, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY]) {
    for (const failures of [1, 5, 1000]) {
      const at = timeAfterFailure(NOW, feeds[0] ?? "", failures, asked);
      expect(at).toBeGreaterThan(NOW);
      expect(at).toBeLessThan(NOW + HORIZON);
    }
    expect(timeAfterHost(hostPause(NOW, asked), feeds[0] ?? "")).toBeLessThan(NOW + 2 * DAY);
  }
  expect(timeAfterFailure(NOW, feeds[0] ?? "", 1, 0)).toBeGreaterThanOrEqual(NOW + HOUR);
});

const A = "https://a.example/rss";
const B = "https://b.example/rss";
const C = "https://c.example/rss";

test.each([
  ["a redirect", A, { redirected_to: B, new_feed_url: null }, B],
  ["a tag", A, { redirected_to: null, new_feed_url: B }, B],
  ["a tag behind a redirect", A, { redirected_to: B, new_feed_url: C }, C],
  ["a tag that names the redirect's end", A, { redirected_to: B, new_feed_url: B }, B],
  ["a redirect from http to https", "http://a.example/rss", { redirected_to: A, new_feed_url: null }, A],
  ["a redirect from https to http", A, { redirected_to: "http://a.example/rss", new_feed_url: null }, null],
  ["a redirect to another spelling", A, { redirected_to: `${A}/`, new_feed_url: null }, null],
  ["a tag that names the feed itself", A, { redirected_to: null, new_feed_url: A }, null],
  ["a tag that leads back from a redirect", A, { redirected_to: B, new_feed_url: A }, null],
  ["a tag that is no URL", A, { redirected_to: null, new_feed_url: "b.example/rss" }, null],
  ["a tag with another protocol", A, { redirected_to: null, new_feed_url: "ftp://b.example/rss" }, null],
  ["nothing", A, { redirected_to: null, new_feed_url: null }, null],
] as const)("%s: the feed moved, or not", (_, feed_url, seen, expected) => {
  expect(moveTarget(feed_url, seen)).toBe(expected);
});

test("a thousand redirects to 8 KB of slashes don't stop the server", () => {
  const hostile = `${B}${"/".repeat(8000)}`;
  for (let n = 0; n < 1000; n++) {
    const redirected_to = `${hostile}${n}`;
    expect(moveTarget(A, { redirected_to, new_feed_url: redirected_to })).toBe(redirected_to);
  }
});

test("a feed moves to a URL that three lookups over a week named, also if earlier ones named another", () => {
  const WEEK = 7 * DAY;
  let move = countMove({ moved_to: null, moved_since: null, moved_seen: 0 }, B, NOW);
  move = countMove(move, B, NOW + WEEK);
  move = countMove(move, C, NOW + 2 * WEEK);
  expect(move).toEqual({ moved_to: C, moved_since: NOW + 2 * WEEK, moved_seen: 1 });
  move = countMove(countMove(move, C, NOW + 2 * WEEK + DAY), C, NOW + 2 * WEEK + 2 * DAY);
  expect(isSettled(move, NOW + 2 * WEEK + 2 * DAY)).toBe(false);
  expect(isSettled(countMove(move, C, NOW + 3 * WEEK), NOW + 3 * WEEK)).toBe(true);
  expect(countMove(move, null, NOW + 3 * WEEK)).toEqual({ moved_to: null, moved_since: null, moved_seen: 0 });
});
