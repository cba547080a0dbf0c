// What lookups do when a feed has moved.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { giveFinding, walkSubscribers } from "../../src/lookup/subscribers.ts";
import { actAsWorker } from "../../src/services/actor.ts";
import { listHistory } from "../../src/services/subscriptions/history.ts";
import { guidOf } from "../support/app.ts";
import { validFeed } from "../support/feed-url.ts";
import { DAY, type Feeds, GUID, guidTag, MINUTE, newUrlTag, OTHER, openFeeds, rss, WEEK } from "./feeds.ts";

let feeds: Feeds;
beforeEach(async () => {
  feeds = await openFeeds();
});
afterEach(() => feeds.close());

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

  test("moves it also if the clock was years ahead at the first lookup", async () => {
    feeds.serve("old", movedTo("new"));
    feeds.serve("new", rss("New"));
    await feeds.add("old");
    feeds.podkeep.clock.advance(3650 * DAY);
    await feeds.after(MINUTE);
    feeds.podkeep.clock.advance(-3650 * DAY);
    await feeds.after(WEEK);
    await feeds.after(WEEK);
    expect(Object.keys(await feeds.rows())).toEqual(["new"]);
  });

  test("does not move it early because the clock was in 1970 for a while, as after a start without a network", async () => {
    feeds.serve("old", movedTo("new"));
    feeds.serve("new", rss("New"));
    await feeds.add("old");
    await feeds.after(MINUTE);
    const now = feeds.podkeep.clock.now();
    feeds.podkeep.clock.set(5 * MINUTE);
    await feeds.after(0);
    feeds.podkeep.clock.set(now + MINUTE);
    await feeds.after(MINUTE);
    expect(Object.keys(await feeds.rows())).toEqual(["old"]);
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

  test("stays where its user moved the podcast back to", async () => {
    feeds.serve("old", movedTo("new"));
    feeds.serve("new", rss("New"));
    const { guid } = await feeds.add("old");
    await lookUpTimes(3);
    expect(Object.keys(await feeds.rows())).toEqual(["new"]);
    await feeds.ann.request("PATCH", `/subscriptions/${guid}`, { new_feed_url: feeds.url("old") });
    await lookUpTimes(5);
    expect(Object.keys(await feeds.rows())).toEqual(["old"]);
  });

  test("moves the subscription there, back, and there again", async () => {
    feeds.serve("old", movedTo("new"));
    feeds.serve("new", rss("New"));
    await feeds.add("old");
    await lookUpTimes(3);
    feeds.serve("old", rss("Old"));
    feeds.serve("new", movedTo("old"));
    await lookUpTimes(4);
    expect(Object.keys(await feeds.rows())).toEqual(["old"]);
    feeds.serve("old", movedTo("new"));
    feeds.serve("new", rss("New"));
    await lookUpTimes(4);
    expect(Object.keys(await feeds.rows())).toEqual(["new"]);
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

  test("by itunes:new-feed-url also from a server that sends a feed only if it changed", async () => {
    feeds.serve("old", ({ headers }) =>
      headers.has("if-none-match")
        ? new Response(null, { status: 304 })
        : new Response(rss("Old", newUrlTag(feeds.url("new"))), { headers: { ETag: '"1"' } }),
    );
    feeds.serve("new", rss("New"));
    await feeds.add("old");
    await lookUpTimes(3);
    expect(Object.keys(await feeds.rows())).toEqual(["new"]);
  });

  test("stays if it names its own URL as the new one", async () => {
    feeds.serve("a", rss("A", newUrlTag(`${feeds.url("a")}/`)));
    await feeds.add("a");
    await lookUpTimes(5);
    expect((await feeds.rows())["a"]?.feed_url).toBe(feeds.url("a"));
    expect(await feeds.lookup("a")).toMatchObject({ moved_to: null });
  });

  test("stays if the new feed says that it has moved back", async () => {
    feeds.serve("old", rss("Old", newUrlTag(feeds.url("new"))));
    feeds.serve("new", rss("New", newUrlTag(feeds.url("old"))));
    await feeds.add("old");
    await lookUpTimes(7);
    const history = await listHistory(feeds.podkeep.app, actAsWorker(feeds.ann.id), { limit: 10 });
    expect(history.map(({ what }) => what)).toEqual(["added"]);
    expect(await feeds.lookup("old")).toMatchObject({ reason: "the feed that it moved to says it has moved back" });
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
    [
      "redirects, after it had none for a week,",
      async () => {
        feeds.serve("old", rss("Old"));
        await feeds.after(WEEK);
        feeds.serve("old", movedTo("new"));
      },
    ],
    [
      "redirects to one that moved on to a feed without a guid,",
      () => {
        feeds.serve("old", movedTo("new"));
        feeds.serve("new", rss("New", guidTag(OTHER) + newUrlTag(feeds.url("third"))));
        feeds.serve("third", rss("Third"));
      },
    ],
  ])("stays if it %s and the new feed has another guid", async (_, move) => {
    feeds.serve("old", rss("Old", guidTag(GUID)));
    feeds.serve("new", rss("New", guidTag(OTHER)));
    await feeds.add("old");
    await lookUpTimes(1);
    await move();
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

  test.each<[what: string, body: object | null]>([
    ["moved", { new_feed_url: "https://elsewhere.test/" }],
    ["unsubscribed", { is_subscribed: false }],
    ["marked for deletion", null],
  ])("leaves a subscription alone that was %s since it was read", async (_, body) => {
    const { guid } = await feeds.add("old");
    const { app } = feeds.podkeep;
    await feeds.after(0);
    const [page] = await Array.fromAsync(walkSubscribers(app.database, feeds.url("old")));
    const [subscriber] = page ?? [];
    if (!subscriber) throw new Error("No subscriber");
    if (body) await feeds.ann.request("PATCH", `/subscriptions/${guid}`, body);
    else await feeds.ann.remove(guid);
    const before = await feeds.rows();
    const finding = { feed_url: feeds.url("old"), title: "New", guid: null, former_title: null };
    const target = { feed: validFeed(feeds.url("new")), guid: OTHER };
    expect(await giveFinding(app, subscriber, { ...finding, target })).toBeNull();
    expect(await feeds.rows()).toEqual(before);
  });
});
