// What lookups change, and what they leave alone.
import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { readFeedUrl } from "../../src/domain/feed-url.ts";
import { unavailableNow } from "../../src/errors.ts";
import { createLogger, type LogLine } from "../../src/log.ts";
import { createLookupContext } from "../../src/lookup/context.ts";
import { lookUpNow } from "../../src/lookup/lookup-now.ts";
import { walkUsers } from "../../src/lookup/walk.ts";
import { LookupWorker } from "../../src/lookup/worker.ts";
import { deleteUser } from "../../src/services/accounts/user-deletion.ts";
import { actAsAdmin, actAsWorker } from "../../src/services/actor.ts";
import { listFeeds } from "../../src/services/subscriptions/feed-lookups.ts";
import { guidOf, START, type TestUser } from "../support/app.ts";
import { beforeWrites } from "../support/before-writes.ts";
import { addFeeds } from "../support/feeds.ts";
import { until } from "../support/patience.ts";
import { settle } from "../support/rejection.ts";
import { type Feeds, GUID, guidTag, MINUTE, OTHER, openFeeds, rss, WEEK } from "./feeds.ts";

const HOUR = 60 * MINUTE;
/** Of a worker with another database, where all hosts are this machine. */
const NETWORK = { interfaces: () => [], resolve: async () => ["127.0.0.1"] };

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

  test("is read as HTML, which many feeds have in it", async () => {
    feeds.serve("a", rss("<![CDATA[Ann&#8217;s Q&amp;A]]>"));
    await feeds.add("a");
    await feeds.after(MINUTE);
    expect(await titleOf("a")).toBe("Ann\u2019s Q&A");
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
    await feeds.after(MINUTE);
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

test("what a feed says reaches each of more than a hundred users, and is given once", async () => {
  feeds.serve("a", rss("A"));
  for (let n = 0; n <= 100; n++) await feeds.add("a", undefined, await feeds.podkeep.user(`user${n}`));
  await feeds.after(MINUTE);
  const titled = await feeds.podkeep.sql("select id from subscriptions where title = 'A'");
  expect([titled.length, feeds.fetched.length]).toEqual([101, 1]);
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

test.each([
  ["its feeds are noted", 1],
  ["it is noted how far they are known", 2],
])("of a user who is deleted just before %s, nothing is left", async (_, at) => {
  await feeds.add("a");
  const deletes = beforeWrites(feeds.podkeep.app, async (write) => {
    if (write === at) await deleteUser(feeds.podkeep.app, "ann");
  });
  await new LookupWorker(deletes).drain();
  for (const table of ["feed_lookups", "feed_followers", "feed_walks"]) {
    expect([table, await feeds.podkeep.sql(`select * from ${table}`)]).toEqual([table, []]);
  }
});

test("a feed is looked up for a user who adds it while its only other user is deleted", async () => {
  feeds.serve("a", rss("A"));
  await feeds.add("a");
  await feeds.after(MINUTE);
  await feeds.add("a", undefined, await feeds.podkeep.user("bob"));
  const deletes = beforeWrites(feeds.podkeep.app, async (write) => {
    if (write === 1) await deleteUser(feeds.podkeep.app, "ann");
  });
  await walkUsers(createLookupContext(deletes, new AbortController().signal));
  expect(await feeds.lookup("a")).toBeDefined();
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

test("the feeds of a slow host, however many are due before others, keep no other host's waiting", async () => {
  feeds.serve("a", rss("A Show"));
  feeds.serve("slow", async () => {
    const end = Date.now() + 5000;
    while (!feeds.fetched.some(({ host }) => host === "a") && Date.now() < end) await Bun.sleep(10);
    return new Response(rss("Slow"));
  });
  const subscriptions = Array.from({ length: 250 }, (_, n) => ({ feed_url: feeds.url("slow", `/${n}`) }));
  await feeds.ann.request("POST", "/subscriptions", { subscriptions });
  await feeds.add("a", undefined, await feeds.podkeep.user("bob"));
  await feeds.worker.drain();
  await feeds.podkeep.sql(`update feed_lookups set next_at = ${START + HOUR} where feed_url = '${feeds.url("a")}'`);
  feeds.podkeep.clock.advance(HOUR);
  await feeds.worker.drain();
  expect(feeds.fetched.slice(0, 5).map(({ host }) => host)).toContain("a");
  for (let waits = 0; waits < 2; waits++) await feeds.after(2 * HOUR);
  expect(feeds.fetched).toHaveLength(251);
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

test("a server that is stopped waits for no host that does not respond", async () => {
  // Nothing else ends the fetch.
  const timeout = spyOn(AbortSignal, "timeout").mockImplementation(() => new AbortController().signal);
  feeds.serve("slow", () => {
    void feeds.worker.stop();
    return new Promise<Response>(() => {});
  });
  await feeds.add("slow");
  let isOver = false;
  const lookups = feeds.after(MINUTE).finally(() => {
    isOver = true;
  });
  await until(() => isOver).finally(() => timeout.mockRestore());
  await lookups;
  expect(feeds.fetched).toHaveLength(1);
});

test("a lookup that is ended before all users have what it found is done again by another process", async () => {
  const { app, clock } = feeds.podkeep;
  feeds.serve("show", rss("Show"));
  const users = [feeds.ann, ...(await Promise.all(["bob", "carol"].map((name) => feeds.podkeep.user(name))))];
  for (const user of users) await feeds.add("show", undefined, user);
  const titles = () => Promise.all(users.map(async (user) => (await feeds.rows(user))["show"]?.title));
  const ending = beforeWrites(app, async () => {
    if ((await titles()).includes("Show")) void ended.stop();
  });
  const ended = new LookupWorker(ending, NETWORK);
  await ended.drain();
  clock.advance(MINUTE);
  await ended.drain();
  expect(await titles()).toContain(null);
  await feeds.after(HOUR);
  expect(await titles()).toEqual(["Show", "Show", "Show"]);
});

test("a feed that a server looks up at that moment is not looked up for an admin too", async () => {
  const { app } = feeds.podkeep;
  feeds.serve("show", rss("Show"));
  const { feed_url } = await feeds.add("show");
  const asking = beforeWrites(app, async (write) => {
    if (write === 2) await feeds.podkeep.sql("update feed_lookups set next_at = next_at + 1");
  });
  const feed = readFeedUrl(feed_url);
  if ("message" in feed) throw new Error(feed.message);
  const actor = await actAsAdmin(app, "ann", "test");
  expect(await settle(lookUpNow(asking, actor, feed))).toThrow("A server looks this feed up now");
  expect(feeds.fetched).toEqual([]);
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

test("new feeds that a server had not noted yet when it was stopped are found after the next start", async () => {
  const { app } = feeds.podkeep;
  const urls = Array.from({ length: 250 }, (_, n) => feeds.url(`a${n}`));
  await addFeeds(app, feeds.ann.id, urls);
  const stopped = new LookupWorker(beforeWrites(app, () => void stopped.stop()));
  await stopped.drain();
  const known = async () => (await feeds.podkeep.sql("select feed from feed_lookups")).length;
  expect(await known()).toBeLessThan(250);
  await feeds.worker.drain();
  expect(await known()).toBe(250);
});

test("the server rests after each hundred new feeds that it notes, and before each lookup, so that requests come first", async () => {
  const urls = Array.from({ length: 250 }, (_, n) => feeds.url(`a${n}`));
  await addFeeds(feeds.podkeep.app, feeds.ann.id, urls);
  const { clock } = feeds.podkeep;
  await feeds.worker.drain();
  expect(clock.slept).toEqual([50, 50, 50]);
  clock.advance(10_000);
  await feeds.worker.drain();
  expect(clock.slept.slice(3)).toEqual(Array(5).fill(500));
});

test.each([
  ["new feeds are noted", 0],
  ["what a feed says is stored, though another lookup has ended", 2],
])("a server that is stopped waits until %s", async (_, fetched) => {
  const { app, clock } = feeds.podkeep;
  feeds.serve("slow", () => new Promise(() => {}));
  feeds.serve("a", async () => {
    await until(() => feeds.fetched.length === 2);
    return new Response(rss("A"));
  });
  for (const host of ["a", "slow"]) await feeds.add(host);
  if (fetched > 0) {
    await feeds.worker.drain();
    clock.advance(MINUTE);
  }
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const writing = beforeWrites(app, async () => {
    if (feeds.fetched.length < fetched) return;
    begun.resolve();
    await held.promise;
  });
  const worker = new LookupWorker({ ...writing, config: { ...app.config, feed_lookup_poll: 1 } }, NETWORK);
  worker.start();
  await begun.promise;
  const ended: string[] = [];
  const stopping = worker.stop().then(() => ended.push("stop"));
  await Bun.sleep(100);
  ended.push("write");
  held.resolve();
  await stopping;
  expect(ended).toEqual(["write", "stop"]);
});

test("feeds that are due when a server is stopped are left for the next one, which reads them at once", async () => {
  const { app, clock } = feeds.podkeep;
  const hosts = Array.from({ length: 10 }, (_, n) => `a${n}`);
  for (const host of hosts) {
    feeds.serve(host, rss("A"));
    await feeds.add(host);
  }
  await feeds.worker.drain();
  clock.advance(MINUTE);
  // While it claims the first.
  const stopped = new LookupWorker(
    beforeWrites(app, () => void stopped.stop()),
    NETWORK,
  );
  await stopped.drain();
  await feeds.worker.drain();
  expect(feeds.fetched.map(({ host }) => host).sort()).toEqual(hosts.slice(1));
});

test("a user who is deleted at that moment keeps what a feed says from no other user", async () => {
  const { app, clock } = feeds.podkeep;
  feeds.serve("a", rss("A"));
  const bob = await feeds.podkeep.user("bob");
  for (const user of [feeds.ann, bob]) await feeds.add("a", undefined, user);
  await feeds.worker.drain();
  clock.advance(MINUTE);
  // After the claim, when the users were read.
  const deletes = beforeWrites(app, async (write) => {
    if (write === 2) await deleteUser(app, "ann");
  });
  await new LookupWorker(deletes, NETWORK).drain();
  expect(await feeds.rows()).toEqual({});
  expect(await feeds.rows(bob)).toMatchObject({ a: { title: "A" } });
});

test("the log says that a lookup could not be stored, and it is done again", async () => {
  const { app, clock } = feeds.podkeep;
  feeds.serve("a", rss("A"));
  await feeds.add("a");
  await feeds.worker.drain();
  clock.advance(MINUTE);
  const lines: LogLine[] = [];
  const failing = beforeWrites(app, (write) => {
    if (write === 2) throw unavailableNow("The disk is full");
  });
  const log = createLogger("error", (line) => lines.push(line));
  await new LookupWorker({ ...failing, log }, NETWORK).drain();
  const { feed } = (await feeds.lookup("a")) ?? {};
  expect(lines).toMatchObject([{ feed, reason: "The disk is full", msg: "a feed lookup could not be stored" }]);
  expect(await titleOf("a")).toBeNull();
  await feeds.after(HOUR);
  expect(await titleOf("a")).toBe("A");
});
