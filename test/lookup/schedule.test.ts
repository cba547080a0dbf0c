// When feeds are looked up.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { hashFeedUrl } from "../../src/domain/feed-url.ts";
import { lookupKey } from "../../src/domain/lookup-rules.ts";
import { actAsWorker } from "../../src/services/actor.ts";
import { unsubscribe } from "../../src/services/subscriptions/subscriptions.ts";
import { validFeed } from "../support/feed-url.ts";
import { addFeeds } from "../support/feeds.ts";
import { DAY, type Feeds, openFeeds, rss } from "./feeds.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** More than the longest time between two lookups that worked. */
const WEEK = 8 * DAY;

let feeds: Feeds;
beforeEach(async () => {
  feeds = await openFeeds();
});
afterEach(() => feeds.close());

const titleOf = async (host: string) => (await feeds.rows())[host]?.title;

describe("a feed is looked up", () => {
  const times = (host: string) => feeds.fetched.filter((one) => one.host === host).length;

  test("some seconds after it was added, then once a week", async () => {
    feeds.serve("a", rss("A"));
    await feeds.add("a");
    await feeds.after(0);
    expect(times("a")).toBe(0);
    await feeds.after(2000);
    expect(times("a")).toBe(1);
    await feeds.after(7 * DAY - 1);
    expect(times("a")).toBe(1);
    await feeds.after(DAY);
    expect(times("a")).toBe(2);
  });

  test("one every two seconds if many were added together", async () => {
    for (let n = 0; n < 10; n++) {
      feeds.serve(`a${n}`, rss("A"));
      await feeds.add(`a${n}`);
    }
    await feeds.after(0);
    for (let n = 1; n <= 10; n++) {
      await feeds.after(2000);
      expect(feeds.fetched).toHaveLength(n);
    }
  });

  test("one every two seconds also of several hundred", async () => {
    const urls = Array.from({ length: 250 }, (_, n) => feeds.url(`a${n}`));
    await addFeeds(feeds.podkeep.app, feeds.ann.id, urls);
    await feeds.after(0);
    const rows = await feeds.podkeep.sql("select next_at from feed_lookups order by next_at");
    const first = Number(rows[0]?.["next_at"]);
    expect(rows.map(({ next_at }) => Number(next_at) - first)).toEqual(urls.map((_, n) => 2000 * n));
  });

  test("some seconds after it was added, also behind many that the user has unsubscribed from", async () => {
    const left = Array.from({ length: 10 }, (_, n) => feeds.url(`left${n}`));
    await addFeeds(feeds.podkeep.app, feeds.ann.id, left);
    await unsubscribe(feeds.podkeep.app, actAsWorker(feeds.ann.id), left.map(validFeed), { dry_run: false });
    feeds.serve("a", rss("A"));
    await feeds.add("a");
    await feeds.after(2000);
    expect(times("a")).toBe(1);
  });

  test("some seconds after it was added, also together with many that another user has", async () => {
    const known = Array.from({ length: 10 }, (_, n) => feeds.url(`known${n}`));
    await addFeeds(feeds.podkeep.app, (await feeds.podkeep.user("bob")).id, known);
    await feeds.after(0);
    feeds.serve("a", rss("A"));
    await addFeeds(feeds.podkeep.app, feeds.ann.id, [...known, feeds.url("a")]);
    await feeds.after(2000);
    expect(times("a")).toBe(1);
  });

  test("again soon after a failure, then ever later; it is known since when it fails", async () => {
    feeds.serve("a", () => new Response(null, { status: 500 }));
    await feeds.add("a");
    await feeds.after(MINUTE);
    const { failing_since } = (await feeds.lookup("a")) ?? {};
    expect(failing_since).toBe(feeds.podkeep.clock.now());
    const pauses: number[] = [];
    for (let n = 0; n < 6; n++) {
      const { next_at, failures } = (await feeds.lookup("a")) as { next_at: number; failures: number };
      expect(failures).toBe(n + 1);
      const pause = next_at - feeds.podkeep.clock.now();
      pauses.push(Math.floor(pause / HOUR / 1.1));
      await feeds.after(pause - 1);
      expect(times("a")).toBe(n + 1);
      await feeds.after(1);
      expect(times("a")).toBe(n + 2);
    }
    // With up to a tenth more.
    expect(pauses.map((hours, index) => hours <= [1, 4, 16, 64, 168, 168][index]!)).toEqual(Array(6).fill(true));
    expect(pauses[3]).toBeGreaterThan(50);
    expect(await feeds.lookup("a")).toMatchObject({ failing_since });
    feeds.serve("a", rss("A"));
    await feeds.after(WEEK);
    expect(await feeds.lookup("a")).toMatchObject({ failures: 0, failing_since: null, reason: null });
  });

  test("not before the time that the server asked for", async () => {
    feeds.serve("a", () => new Response(null, { status: 429, headers: { "Retry-After": "36000" } }));
    await feeds.add("a");
    await feeds.after(MINUTE);
    await feeds.after(10 * HOUR - 1);
    expect(times("a")).toBe(1);
    await feeds.after(HOUR);
    expect(times("a")).toBe(2);
  });

  test("later if another feed of the same host found it down or busy", async () => {
    feeds.serve("big", () => new Response(rss("A"), { status: times("big") === 1 ? 503 : 200 }));
    for (let n = 0; n < 5; n++) await feeds.ann.add(feeds.url("big", `/${n}`));
    await feeds.after(2000);
    await feeds.after(MINUTE);
    expect(times("big")).toBe(1);
    await feeds.after(2 * HOUR);
    expect(new Set(feeds.fetched.map(({ path }) => path)).size).toBe(5);
  });

  test("with the validators of its last response", async () => {
    feeds.serve("a", ({ headers }) =>
      headers.get("if-none-match") === '"1"'
        ? new Response(null, { status: 304 })
        : new Response(rss("A"), { headers: { ETag: '"1"' } }),
    );
    await feeds.add("a");
    await feeds.after(MINUTE);
    await feeds.after(WEEK);
    expect(feeds.fetched.map(({ headers }) => headers.get("if-none-match"))).toEqual([null, '"1"']);
    expect(await titleOf("a")).toBe("A");
    expect(await feeds.lookup("a")).toMatchObject({ title: "A", failures: 0 });
  });

  test("no more once no user is subscribed to it, and again after that", async () => {
    feeds.serve("a", rss("A"));
    const { guid: computed } = await feeds.add("a");
    await feeds.after(MINUTE);
    await feeds.ann.request("PATCH", `/subscriptions/${computed}`, { is_subscribed: false });
    await feeds.after(WEEK);
    expect(times("a")).toBe(1);
    expect(await feeds.podkeep.sql("select * from feed_lookups")).toEqual([]);
    expect(await feeds.podkeep.sql("select * from feed_followers")).toEqual([]);
    await feeds.ann.request("PATCH", `/subscriptions/${computed}`, { is_subscribed: true });
    await feeds.after(MINUTE);
    expect(times("a")).toBe(2);
  });

  test("no more once it has moved for its only user", async () => {
    for (const host of ["old", "new"]) feeds.serve(host, rss("A"));
    const { guid } = await feeds.add("old");
    await feeds.after(MINUTE);
    await feeds.ann.request("PATCH", `/subscriptions/${guid}`, { new_feed_url: feeds.url("new") });
    await feeds.after(WEEK);
    expect([times("old"), times("new")]).toEqual([1, 1]);
    expect(await feeds.podkeep.sql("select * from feed_lookups")).toHaveLength(1);
  });

  test("after the clock was wrong", async () => {
    feeds.serve("a", rss("A"));
    await feeds.add("a");
    feeds.podkeep.clock.advance(3650 * DAY);
    await feeds.after(0);
    feeds.podkeep.clock.advance(-3650 * DAY);
    await feeds.after(MINUTE);
    expect(times("a")).toBe(1);
  });

  test("after the clock was wrong while its host was down", async () => {
    feeds.serve("a", () => new Response(null, { status: 503 }));
    await feeds.add("a");
    await feeds.after(0);
    feeds.podkeep.clock.advance(3650 * DAY);
    await feeds.after(0);
    feeds.podkeep.clock.advance(-3650 * DAY);
    await feeds.after(0);
    expect(times("a")).toBe(2);
    const now = feeds.podkeep.clock.now();
    expect(await feeds.lookup("a")).toMatchObject({ failures: 2, failing_since: now });
  });

  test("also if an older server found it, during an upgrade", async () => {
    feeds.serve("a", rss("A"));
    await feeds.add("a");
    await feeds.after(0);
    const old = hashFeedUrl(feeds.url("a"));
    await feeds.podkeep.sql(`update feed_lookups set feed = '${old}'`);
    await feeds.podkeep.sql(`update feed_followers set feed = '${old}'`);
    await feeds.after(MINUTE);
    await feeds.after(MINUTE);
    expect(await titleOf("a")).toBe("A");
    expect(await feeds.podkeep.sql("select feed from feed_lookups")).toEqual([{ feed: lookupKey(feeds.url("a")) }]);
    expect(await feeds.podkeep.sql("select feed from feed_followers")).toHaveLength(1);
  });
});
