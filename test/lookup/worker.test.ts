// What lookups change, when they happen, and what they leave alone.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { hashFeedUrl } from "../../src/domain/feed-url.ts";
import { lookupKey } from "../../src/domain/lookup-rules.ts";
import { actAsWorker } from "../../src/services/actor.ts";
import { listFeeds } from "../../src/services/feeds.ts";
import { listHistory } from "../../src/services/history.ts";
import { deleteUser } from "../../src/services/users.ts";
import { guidOf, START, type TestUser } from "../support/app.ts";
import { until } from "../support/patience.ts";
import { DAY, type Feeds, guidTag, newUrlTag, openFeeds, rss } from "./feeds.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** More than the longest time between two lookups that worked. */
const WEEK = 8 * DAY;
const GUID = "917393e3-1b1e-5cef-ace4-edaa54e1f810";
const OTHER = "29cdca4a-32d8-56ba-b48b-09a011c5daa9";

let feeds: Feeds;
beforeEach(async () => {
  feeds = await openFeeds();
});
afterEach(() => feeds.close());

const titleOf = async (host: string) => (await feeds.rows())[host]?.title;
const guid = async (host: string) => (await feeds.rows())[host]?.guid;

describe("the title", () => {
  test("comes from the feed if there is none", async () => {
    feeds.serve("a", rss("A Show"));
    await feeds.add("a");
    await feeds.after(MINUTE);
    expect(await titleOf("a")).toBe("A Show");
  });

  test("is made safe to show", async () => {
    feeds.serve("a", rss(`\u202eA\u0007\n Show${"x".repeat(600)}`));
    await feeds.add("a");
    await feeds.after(MINUTE);
    expect(await titleOf("a")).toBe(`A Show${"x".repeat(494)}`);
  });

  test("follows the feed if it came from there", async () => {
    feeds.serve("a", rss("Before"));
    await feeds.add("a");
    await feeds.after(MINUTE);
    feeds.serve("a", rss("After"));
    await feeds.after(WEEK);
    expect(await titleOf("a")).toBe("After");
  });

  test("stays if an app or a person gave it", async () => {
    feeds.serve("a", rss("From the feed"));
    await feeds.add("a");
    await feeds.podkeep.sql("update subscriptions set title = 'Mine'");
    await feeds.after(MINUTE);
    await feeds.after(WEEK);
    expect(await titleOf("a")).toBe("Mine");
  });

  test("changes nothing that devices sync", async () => {
    feeds.serve("a", rss("A Show"));
    await feeds.add("a");
    const before = await feeds.ann.changes();
    await feeds.after(MINUTE);
    expect(await feeds.ann.changes()).toEqual(before);
  });

  test("reaches all users of a feed by one lookup, later ones without any", async () => {
    feeds.serve("a", rss("A Show"));
    const [bob, eve] = [await feeds.podkeep.user("bob"), await feeds.podkeep.user("eve")];
    await feeds.add("a");
    await feeds.add("a", undefined, bob);
    await feeds.after(MINUTE);
    await feeds.add("a", undefined, eve);
    await feeds.after(MINUTE);
    for (const user of [feeds.ann, bob, eve]) expect((await feeds.rows(user))["a"]?.title).toBe("A Show");
    expect(feeds.fetched).toHaveLength(1);
  });
});

describe("the guid of the feed", () => {
  test("replaces one that was computed, and the old one still leads to the subscription", async () => {
    feeds.serve("a", rss("A", guidTag(GUID)));
    const { guid: computed } = await feeds.add("a");
    await feeds.after(MINUTE);
    expect(await guid("a")).toBe(GUID);
    expect(await feeds.ann.changes()).toMatchObject([{ guid: computed, new_guid: GUID }]);
    expect((await feeds.ann.request("GET", `/subscriptions/${computed}`)).body.new_guid).toBe(GUID);
  });

  test("replaces one that was computed from a former feed URL", async () => {
    feeds.serve("b", rss("B", guidTag(GUID)));
    const { guid: computed } = await feeds.add("a");
    await feeds.ann.request("PATCH", `/subscriptions/${computed}`, { new_feed_url: feeds.url("b") });
    await feeds.after(MINUTE);
    expect(await guid("b")).toBe(GUID);
  });

  test.each([guidOf(1), OTHER])("does not replace %s, which an app sent", async (sent) => {
    feeds.serve("a", rss("A", guidTag(GUID)));
    await feeds.add("a", sent);
    await feeds.after(MINUTE);
    expect(await guid("a")).toBe(sent);
  });

  test("does not merge podcasts whose feeds claim the same one", async () => {
    for (const host of ["a", "b"]) feeds.serve(host, rss(host, guidTag(GUID)));
    await feeds.add("a");
    const { guid: computed } = await feeds.add("b");
    await feeds.after(MINUTE);
    await feeds.after(WEEK);
    expect(await guid("a")).toBe(GUID);
    expect(await guid("b")).toBe(computed);
  });

  test("does not bring a deleted podcast back", async () => {
    feeds.serve("a", rss("A", guidTag(GUID)));
    await feeds.add("gone", GUID);
    await feeds.ann.remove(GUID);
    await feeds.podkeep.drain();
    const { guid: computed } = await feeds.add("a");
    await feeds.after(MINUTE);
    expect(await guid("a")).toBe(computed);
    expect(Object.keys(await feeds.rows())).toEqual(["a"]);
  });
});

describe("a feed that moved", () => {
  const movedTo = (host: string) => () => new Response(null, { status: 301, headers: { Location: feeds.url(host) } });
  const lookUpTimes = async (times: number) => {
    await feeds.after(MINUTE);
    for (let n = 1; n < times; n++) await feeds.after(WEEK);
  };

  test("moves the subscription at the third lookup", async () => {
    feeds.serve("old", movedTo("new"));
    feeds.serve("new", rss("New"));
    const { guid: computed } = await feeds.add("old");
    await lookUpTimes(2);
    expect(Object.keys(await feeds.rows())).toEqual(["old"]);
    await feeds.after(WEEK);
    expect(Object.keys(await feeds.rows())).toEqual(["new"]);
    expect(await feeds.ann.changes()).toMatchObject([{ feed_url: feeds.url("new"), guid: computed }]);
    expect(await feeds.add("old")).toMatchObject({ guid: computed });
  });

  test("is in the history as moved by the lookup", async () => {
    feeds.serve("old", movedTo("new"));
    feeds.serve("new", rss("New"));
    await feeds.add("old");
    await lookUpTimes(3);
    const [latest] = await listHistory(feeds.podkeep.app, actAsWorker(feeds.ann.id), { limit: 1 });
    expect(latest).toMatchObject({
      what: "moved",
      before: feeds.url("old"),
      feed_url: feeds.url("new"),
      by: { kind: "worker", label: "feed lookup" },
    });
  });

  test("by itunes:new-feed-url, too", async () => {
    feeds.serve("old", rss("Old", newUrlTag(feeds.url("new"))));
    feeds.serve("new", rss("New"));
    await feeds.add("old");
    await lookUpTimes(2);
    expect(Object.keys(await feeds.rows())).toEqual(["old"]);
    await feeds.after(WEEK);
    expect(Object.keys(await feeds.rows())).toEqual(["new"]);
  });

  test("stays if it names its own URL as the new one", async () => {
    feeds.serve("a", rss("A", newUrlTag(`${feeds.url("a")}/`)));
    await feeds.add("a");
    await lookUpTimes(5);
    expect((await feeds.rows())["a"]?.feed_url).toBe(feeds.url("a"));
    expect(await feeds.lookup("a")).toMatchObject({ moved_to: null });
  });

  test.each(["a..b", ".a", "a".repeat(64)])("stays if its new host is %s.test, at which an app stops", async (odd) => {
    feeds.serve("old", rss("Old", newUrlTag(feeds.url(odd))));
    feeds.serve("other", movedTo(odd));
    feeds.serve(odd, rss("Odd"));
    await feeds.add("old");
    await feeds.add("other");
    await lookUpTimes(4);
    expect(Object.keys(await feeds.rows()).sort()).toEqual(["old", "other"]);
  });

  test("stays if the redirect is temporary", async () => {
    feeds.serve("old", () => new Response(null, { status: 302, headers: { Location: feeds.url("new") } }));
    feeds.serve("new", rss("New"));
    await feeds.add("old");
    await lookUpTimes(5);
    expect(Object.keys(await feeds.rows())).toEqual(["old"]);
  });

  test("stays if three lookups saw it within less than a week", async () => {
    feeds.serve("old", movedTo("new"));
    feeds.serve("new", rss("New"));
    await feeds.add("old");
    await feeds.after(MINUTE);
    for (let n = 1; n < 5; n++) {
      await feeds.podkeep.sql(`update feed_lookups set next_at = ${feeds.podkeep.clock.now() + DAY}`);
      await feeds.after(DAY);
    }
    expect(await feeds.lookup("old")).toMatchObject({ moved_seen: 5 });
    expect(Object.keys(await feeds.rows())).toEqual(["old"]);
  });

  test("starts again after a lookup that saw no move, or another one", async () => {
    feeds.serve("new", rss("New"));
    feeds.serve("newer", rss("Newer"));
    await feeds.add("old");
    for (const [index, respond] of [
      movedTo("new"),
      movedTo("new"),
      rss("Old"),
      movedTo("newer"),
      movedTo("newer"),
    ].entries()) {
      feeds.serve("old", respond);
      await feeds.after(index === 0 ? MINUTE : WEEK);
    }
    expect(Object.keys(await feeds.rows())).toEqual(["old"]);
    await feeds.after(WEEK);
    expect(Object.keys(await feeds.rows())).toEqual(["newer"]);
  });

  test("takes the guid of the new feed if its own was computed", async () => {
    feeds.serve("old", rss("Old", newUrlTag(feeds.url("new"))));
    feeds.serve("new", rss("New", guidTag(GUID)));
    await feeds.add("old");
    await lookUpTimes(3);
    expect(await feeds.rows()).toMatchObject({ new: { guid: GUID } });
  });

  test.each([
    ["redirects", () => feeds.serve("old", movedTo("new"))],
    ["names a new URL", () => feeds.serve("old", rss("Old", guidTag(GUID) + newUrlTag(feeds.url("new"))))],
  ])("stays if it %s and the new feed has another guid", async (_, move) => {
    feeds.serve("old", rss("Old", guidTag(GUID)));
    feeds.serve("new", rss("New", guidTag(OTHER)));
    await feeds.add("old");
    await lookUpTimes(1);
    move();
    await feeds.after(WEEK);
    await feeds.after(WEEK);
    await feeds.after(WEEK);
    expect(await feeds.rows()).toMatchObject({ old: { guid: GUID, title: "Old" } });
    expect(await feeds.lookup("old")).toMatchObject({ reason: "it moved to a feed with another guid" });
  });

  test("stays for a user whose app sent another guid, and moves for others", async () => {
    feeds.serve("old", movedTo("new"));
    feeds.serve("new", rss("New", guidTag(GUID)));
    const bob = await feeds.podkeep.user("bob");
    await feeds.add("old", guidOf(1));
    await feeds.add("old", undefined, bob);
    await lookUpTimes(3);
    expect(Object.keys(await feeds.rows())).toEqual(["old"]);
    expect(await feeds.rows(bob)).toMatchObject({ new: { guid: GUID } });
  });

  test("stays as long as the new feed can't be read", async () => {
    feeds.serve("old", rss("Old", newUrlTag(feeds.url("new"))));
    feeds.serve("new", () => new Response("<html>"));
    await feeds.add("old");
    await lookUpTimes(4);
    expect(Object.keys(await feeds.rows())).toEqual(["old"]);
    expect(await feeds.lookup("old")).toMatchObject({
      reason: "the feed that it moved to can't be read: it is an HTML page",
    });
    feeds.serve("new", rss("New"));
    await feeds.after(WEEK);
    expect(Object.keys(await feeds.rows())).toEqual(["new"]);
  });

  test.each([
    ["before", ["new", "old"]],
    ["after", ["old", "new"]],
  ])("becomes one with the subscription to the new URL, added %s it, with the feed's guid", async (_, hosts) => {
    feeds.serve("old", movedTo("new"));
    feeds.serve("new", rss("New", guidTag(GUID)));
    const computed: string[] = [];
    for (const host of hosts) computed.push((await feeds.add(host)).guid);
    await lookUpTimes(3);
    expect(await feeds.rows()).toEqual({ new: expect.objectContaining({ guid: GUID, is_subscribed: 1 }) });
    for (const guid of computed) {
      expect((await feeds.ann.request("GET", `/subscriptions/${guid}`)).body.new_guid).toBe(GUID);
    }
  });

  test("cancels no deletion", async () => {
    feeds.serve("old", movedTo("new"));
    feeds.serve("new", rss("New"));
    const { guid: computed } = await feeds.add("old");
    await feeds.add("new");
    await lookUpTimes(2);
    await feeds.ann.remove(computed);
    await feeds.after(WEEK);
    await feeds.podkeep.drain();
    expect(Object.keys(await feeds.rows())).toEqual(["new"]);
    expect((await feeds.ann.request("GET", `/subscriptions/${computed}`)).status).toBe(410);
  });
});

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

  test("again soon after a failure, then ever later", async () => {
    feeds.serve("a", () => new Response(null, { status: 500 }));
    await feeds.add("a");
    await feeds.after(MINUTE);
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

  test("after the clock was wrong", async () => {
    feeds.serve("a", rss("A"));
    await feeds.add("a");
    feeds.podkeep.clock.advance(3650 * DAY);
    await feeds.after(0);
    feeds.podkeep.clock.advance(-3650 * DAY);
    await feeds.after(MINUTE);
    expect(times("a")).toBe(1);
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

describe("another user's spelling of a feed", () => {
  const urlOf = async (user: TestUser) => Object.values(await feeds.rows(user))[0]?.feed_url;
  let eve: TestUser;
  beforeEach(async () => {
    eve = await feeds.podkeep.user("eve");
  });

  test("changes neither title nor guid", async () => {
    feeds.serve("a", ({ path }) =>
      path.endsWith("//") ? new Response(rss("Wrong", guidTag(OTHER))) : new Response(rss("Right", guidTag(GUID))),
    );
    await eve.add(feeds.url("a", "/rss//"));
    await feeds.add("a");
    await feeds.after(MINUTE);
    await feeds.after(WEEK);
    expect(await feeds.rows()).toMatchObject({ a: { title: "Right", guid: GUID } });
    expect(await feeds.rows(eve)).toMatchObject({ a: { title: "Wrong", guid: OTHER } });
  });

  test("moves only that user", async () => {
    feeds.serve("a", ({ path }) =>
      path.endsWith("/") ? Response.redirect(feeds.url("b"), 301) : new Response(rss("A")),
    );
    feeds.serve("b", rss("B"));
    await eve.add(feeds.url("a", "/rss/"));
    await feeds.add("a");
    await feeds.after(MINUTE);
    for (let n = 0; n < 3; n++) await feeds.after(WEEK);
    expect(await urlOf(feeds.ann)).toBe(feeds.url("a"));
    expect(await urlOf(eve)).toBe(feeds.url("b"));
  });

  test("by https, which fails, leaves the lookup by http alone", async () => {
    feeds.serve("a", rss("A", guidTag(GUID)));
    await eve.add(feeds.url("a").replace("http:", "https:"));
    await feeds.add("a");
    await feeds.after(MINUTE);
    expect(await feeds.rows()).toMatchObject({ a: { title: "A", guid: GUID } });
    expect(await feeds.rows(eve)).toMatchObject({ a: { title: null } });
    const [own] = await listFeeds(feeds.podkeep.app, actAsWorker(feeds.ann.id));
    const [eves] = await listFeeds(feeds.podkeep.app, actAsWorker(eve.id));
    expect([own?.state, eves?.state]).toEqual(["read", "failing"]);
  });

  test("is read for that user when another spelling had been read before", async () => {
    feeds.serve("a", ({ path }) => new Response(rss(path)));
    await feeds.add("a");
    await feeds.after(MINUTE);
    await eve.add(feeds.url("a", "/rss/"));
    await feeds.after(MINUTE);
    expect(await feeds.rows(eve)).toMatchObject({ a: { title: "/rss/" } });
  });
});

test("deleting a user deletes what only this user's feeds left", async () => {
  for (const host of ["a", "b"]) feeds.serve(host, rss(host));
  await feeds.podkeep.user("bob");
  const bob = await feeds.podkeep.user("carl");
  await feeds.add("a");
  await feeds.add("b");
  await feeds.add("b", undefined, bob);
  await feeds.after(MINUTE);
  await deleteUser(feeds.podkeep.app, "ann");
  const rows = await feeds.podkeep.sql("select feed_url from feed_lookups");
  expect(rows).toEqual([{ feed_url: feeds.url("b") }]);
  expect(await feeds.podkeep.sql("select user_id from feed_followers")).toEqual([{ user_id: bob.id }]);
  expect(await feeds.podkeep.sql("select user_id from feed_walks")).toEqual([{ user_id: bob.id }]);
});

test("of 300 feeds, a third of which fails, all others get their titles; four at a time, one per host", async () => {
  for (let n = 0; n < 300; n++) {
    const host = `h${n % 60}`;
    feeds.serve(host, async ({ path }) => {
      // Until four run, and then for a moment, in which there may be more.
      if (feeds.podkeep.clock.now() > START) await until(() => feeds.most.running >= 4);
      await Bun.sleep(20);
      return Number(path.slice(1)) % 3 === 0 ? new Response("<html>") : new Response(rss(`Show ${path.slice(1)}`));
    });
  }
  const subscriptions = Array.from({ length: 300 }, (_, n) => ({ feed_url: feeds.url(`h${n % 60}`, `/${n}`) }));
  await feeds.ann.request("POST", "/subscriptions", { subscriptions });
  await feeds.after(HOUR / 2);
  expect(feeds.fetched).toHaveLength(300);
  const titles = await feeds.podkeep.sql("select title from subscriptions where title is not null");
  expect(titles).toHaveLength(200);
  expect(await feeds.podkeep.sql("select 1 from feed_lookups where reason = 'it is an HTML page'")).toHaveLength(100);
  expect(feeds.most).toEqual({ running: 4, perHost: 1 });
});

test("a lookup that is ended by a shutdown stores nothing, and another process takes it later", async () => {
  feeds.serve("slow", () => {
    void feeds.worker.stop();
    return new Promise<Response>(() => {});
  });
  await feeds.add("slow");
  await feeds.after(MINUTE);
  expect(await feeds.lookup("slow")).toMatchObject({ checked_at: null, failures: 0 });
});

test("requests come in between while the users with new feeds are looked for", async () => {
  await feeds.podkeep.sql(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
    insert into users (public_id, name, clock, last_subscription, last_deletion, created_at, name_key)
    select 'many' || i, 'many' || i, 0, 0, 0, 0, 'many' || i from n`);
  const ended: string[] = [];
  const request = new Promise((resolve) => setImmediate(resolve)).then(() => ended.push("request"));
  await feeds.worker.drain();
  ended.push("search");
  await request;
  expect(ended).toEqual(["request", "search"]);
});
