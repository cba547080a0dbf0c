// The draft's sync endpoint: actions, and changes of others.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type Answer, guidOf, openTestApp, START, type TestApp, type TestUser } from "../../support/app.ts";
import { addFeeds } from "../../support/feeds.ts";
import { action, DRAFT, type DraftClient, draftClient } from "./client.ts";

const FEED = "https://feeds.test/1";
const OTHER = "https://feeds.test/2";
const MINUTE = 60_000;

let server: TestApp;
let user: TestUser;
let phone: DraftClient;
let tablet: DraftClient;

beforeEach(async () => {
  server = await openTestApp(DRAFT);
  server.clock.advance(60 * MINUTE);
  user = await server.user();
  phone = draftClient(server, user);
  tablet = draftClient(server, user);
});
afterEach(() => server.close());

const now = () => server.clock.now();
const iso = (time: number) => new Date(time).toISOString();
const feedsOf = (items: Answer["body"][]) =>
  items.map(({ data }) => `${data.feed_url}${data.unsubscribed_at ? " off" : ""}`);
const listed = async () => (await phone.request("GET", "/api/v1/subscriptions")).body.results;

describe("subscribe", () => {
  test("of a feed without a guid gets the one that is computed from its URL", async () => {
    for (const guid of ["", undefined]) {
      const { status, data } = await phone.subscribe(`${FEED}${guid}`, now(), guid);
      expect([status, data.guid]).toEqual(["applied", expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    }
  });

  test("with the nil or max UUID as guid is one without a guid", async () => {
    for (const [n, digit] of ["0", "f", "F", "0"].entries()) {
      const guid = guidOf(1).replace(/\w/g, digit);
      const { status, data } = await phone.subscribe(`${FEED}${n}`, now(), guid);
      expect([status, (await user.request("GET", `/subscriptions/${data.guid}`)).status]).toEqual(["applied", 200]);
      expect(await phone.update(data.sync_id, { guid, feed_url: `${OTHER}${n}` })).toMatchObject({
        status: "applied",
        data: { guid: data.guid },
      });
    }
    expect(await listed()).toHaveLength(4);
  });

  test("of a feed that is subscribed already is ignored, by feed URL and by guid", async () => {
    const first = await phone.subscribe(FEED, now(), guidOf(1));
    for (const [feed_url, guid] of [
      [FEED, guidOf(2)],
      [OTHER, guidOf(1)],
    ] as const) {
      expect(await tablet.subscribe(feed_url, now() + 1, guid)).toMatchObject({ status: "ignored", data: first.data });
    }
  });

  test("under a feed URL that the subscription has left finds it", async () => {
    const { data } = await phone.subscribe(FEED);
    await phone.update(data.sync_id, { feed_url: OTHER }, now() + 1);
    expect(await tablet.subscribe(FEED)).toMatchObject({ status: "ignored", data: { feed_url: OTHER } });
    expect(await listed()).toHaveLength(1);
  });

  test("again by its guid, at a feed URL that it never had, moves it there: the one before may be gone", async () => {
    const { data } = await phone.subscribe(FEED, now() - MINUTE, guidOf(1));
    await phone.unsubscribe(data.sync_id, now() - 4);
    const again = await tablet.subscribe(OTHER, now() - 3, guidOf(1));
    expect(again).toMatchObject({ status: "applied", data: { sync_id: data.sync_id, feed_url: OTHER } });
    // Unless somebody has said later where it is.
    await phone.unsubscribe(data.sync_id, now() - 2);
    await phone.update(data.sync_id, { feed_url: `${OTHER}/later` }, now());
    const late = await tablet.subscribe(`${OTHER}/earlier`, now() - 1, guidOf(1));
    expect(late).toMatchObject({ status: "applied", data: { feed_url: `${OTHER}/later` } });
  });

  test("of a deleted subscription brings it back under its sync_id", async () => {
    const { data } = await phone.subscribe(FEED);
    await user.remove(data.guid);
    await server.drain();
    server.clock.advance(MINUTE);
    const again = await tablet.subscribe(FEED);
    expect(again).toMatchObject({ status: "applied", data: { sync_id: data.sync_id, subscribed_at: iso(now()) } });
    expect(again.data.unsubscribed_at).toBeUndefined();
  });
});

describe("unsubscribe", () => {
  test("of an unknown subscription is rejected with what was sent", async () => {
    const result = await phone.unsubscribe(guidOf(9));
    expect(result).toMatchObject({
      status: "rejected",
      reason: "Entity not found",
      data: { sync_id: guidOf(9) },
    });
  });

  test("of two things that one client says in one second the second counts", async () => {
    const { data } = await phone.subscribe(FEED);
    expect(await tablet.unsubscribe(data.sync_id)).toMatchObject({ status: "ignored" });
    expect(await phone.unsubscribe(data.sync_id)).toMatchObject({ status: "applied" });
  });

  test("in one second and one request with a subscribe counts, also if that changed nothing, or no client is named", async () => {
    await phone.subscribe(FEED, now() - MINUTE);
    for (const [client, feed_url, status] of [
      [tablet, FEED, "ignored"],
      [draftClient(server, user, null), OTHER, "applied"],
    ] as const) {
      const taps = ["subscribe", "unsubscribe"].map((kind) => action(kind, now(), { feed_url }));
      expect((await client.send(...taps)).map((result) => result.status)).toEqual([status, "applied"]);
    }
  });

  test("without a sync_id finds what subscribe finds, also by the guid that is computed from the feed URL", async () => {
    const { guid } = await user.add(FEED);
    const another = await server.user();
    // The feed has moved, and still has the guid of its first URL.
    await another.add(OTHER, guid);
    server.clock.advance(MINUTE);
    const client = draftClient(server, another);
    expect(await client.subscribe(FEED, now() - 1)).toMatchObject({ status: "ignored", data: { feed_url: OTHER } });
    const [result] = await client.send(action("unsubscribe", now(), { feed_url: FEED }));
    expect(result).toMatchObject({ status: "applied", data: { feed_url: OTHER } });
  });
});

describe("update", () => {
  test("sets feed URL and guid, also of an unsubscribed one", async () => {
    const { data } = await phone.subscribe(FEED, now() - 5, guidOf(1));
    await phone.unsubscribe(data.sync_id, now() - 4);
    const result = await tablet.update(data.sync_id, { feed_url: OTHER, guid: guidOf(2) });
    expect(result).toMatchObject({ status: "applied", data: { feed_url: OTHER, guid: guidOf(2) } });
    expect(result.data.unsubscribed_at).toBe(iso(now() - 4));
  });

  test("does not depend on when it was subscribed or unsubscribed, only on the last update", async () => {
    const { data } = await phone.subscribe(FEED, now() - 10 * MINUTE);
    await phone.unsubscribe(data.sync_id, now() - MINUTE);
    expect(await tablet.update(data.sync_id, { feed_url: OTHER }, now() - 5 * MINUTE)).toMatchObject({
      status: "applied",
    });
    expect(await phone.update(data.sync_id, { feed_url: FEED }, now() - 6 * MINUTE)).toMatchObject({
      status: "ignored",
      data: { feed_url: OTHER },
    });
  });

  test("to another subscription's feed URL makes one of the two", async () => {
    const [one, two] = [await phone.subscribe(FEED, now() - 5), await phone.subscribe(OTHER, now() - 4)];
    const since = (await tablet.changes()).at(-1).last_updated;
    const merged = await phone.update(two.data.sync_id, { feed_url: FEED });
    expect(merged).toMatchObject({ status: "applied", data: { sync_id: two.data.sync_id, feed_url: FEED } });
    expect(await listed()).toEqual([merged.data]);
    // By the one that is gone: what it became.
    expect((await phone.request("GET", `/api/v1/subscriptions/${one.data.sync_id}`)).body).toEqual(merged.data);
    const changes = await tablet.changes(since, "&limit=1");
    expect(changes.map(({ data }) => data.sync_id)).toEqual([one.data.sync_id, two.data.sync_id]);
    expect(feedsOf(changes)).toEqual([`${FEED} off`, FEED]);
    // So does the client that did it, which otherwise, if it knows podcasts by URL, removes the one that is left.
    expect(feedsOf(await phone.changes(since))).toEqual([`${FEED} off`, FEED]);
    server.clock.advance(MINUTE);
    await phone.unsubscribe(two.data.sync_id);
    server.clock.advance(MINUTE);
    await phone.subscribe(FEED);
    expect(feedsOf(await phone.changes(since, "&limit=1"))).toEqual([`${FEED} off`, FEED]);
  });

  test("to another subscription's guid leaves that one where somebody has said later that it is", async () => {
    const [one, two] = [await phone.subscribe(FEED, now() - MINUTE), await phone.subscribe(OTHER, now() - MINUTE)];
    await tablet.update(two.data.sync_id, { feed_url: `${OTHER}/new` }, now() - 2);
    const merged = await phone.update(one.data.sync_id, { feed_url: FEED, guid: two.data.guid }, now() - 4);
    expect(merged).toMatchObject({ status: "applied", data: { sync_id: two.data.sync_id, feed_url: `${OTHER}/new` } });
    expect(await listed()).toEqual([merged.data]);
    expect(await phone.update(two.data.sync_id, { feed_url: FEED }, now() - 3)).toMatchObject({ status: "ignored" });
  });

  test("to the guid of a deleted subscription moves it to the feed URL, also if that one moved later", async () => {
    const [one, two] = [await phone.subscribe(FEED, now() - MINUTE), await phone.subscribe(OTHER, now() - MINUTE)];
    await tablet.update(two.data.sync_id, { feed_url: `${OTHER}/new` }, now() - 2);
    await user.remove(two.data.guid);
    await server.app.deletionWorker.drain();
    const moved = await phone.update(one.data.sync_id, { feed_url: `${FEED}/new`, guid: two.data.guid }, now() - 4);
    expect(moved).toMatchObject({ status: "applied", data: { guid: two.data.guid, feed_url: `${FEED}/new` } });
  });

  test("without a feed URL and a guid is rejected", async () => {
    const { data } = await phone.subscribe(FEED);
    expect(await phone.update(data.sync_id, {})).toMatchObject({ status: "rejected" });
  });
});

describe("clocks", () => {
  test("a clock that is ahead counts as now: a later action of another client wins", async () => {
    const { data } = await phone.subscribe(FEED, now() + 24 * 60 * MINUTE);
    expect(data.subscribed_at).toBe(iso(now()));
    server.clock.advance(1000);
    expect(await tablet.unsubscribe(data.sync_id)).toMatchObject({ status: "applied" });
    const again = await phone.subscribe(FEED, now() + 24 * 60 * MINUTE);
    expect(again).toMatchObject({ status: "applied", data: { subscribed_at: iso(now()) } });
    server.clock.advance(1000);
    // As far ahead as a burst of changes takes the user's clock.
    await phone.unsubscribe(data.sync_id, now() + 5000);
    server.clock.advance(1);
    expect(await tablet.subscribe(FEED)).toMatchObject({ status: "applied" });
  });

  test("a change by another protocol counts by the server's clock", async () => {
    const { data } = await phone.subscribe(FEED, now() - MINUTE);
    await user.request("PATCH", `/subscriptions/${data.guid}`, { is_subscribed: false });
    const off = { unsubscribed_at: expect.any(String) };
    expect(await tablet.subscribe(FEED, now() - 1)).toMatchObject({ status: "ignored", data: off });
    server.clock.advance(2);
    expect(await tablet.subscribe(FEED)).toMatchObject({ status: "applied" });
  });

  test("what its user does right after many changes elsewhere counts, though their timestamps are ahead", async () => {
    const subscriptions = Array.from({ length: 100 }, (_, n) => ({ feed_url: `https://feeds.test/${n}` }));
    await user.request("POST", "/subscriptions", { subscriptions });
    const added = (await phone.changes()).at(-1);
    expect(added.data.subscribed_at).toBe(iso(now()));
    expect(Date.parse(added.last_updated)).toBeGreaterThan(now());
    server.clock.advance(1);
    expect(await phone.unsubscribe(added.data.sync_id)).toMatchObject({ status: "applied" });
    const { guid } = await user.add(added.data.feed_url);
    await user.request("PATCH", `/subscriptions/${guid}`, { new_feed_url: `${added.data.feed_url}/moved` });
    server.clock.advance(1);
    expect(await phone.update(added.data.sync_id, { feed_url: added.data.feed_url })).toMatchObject({
      status: "applied",
    });
  });

  test("after the server's clock was ahead, the order of arrival counts", async () => {
    server.clock.advance(60 * MINUTE);
    const { guid } = await user.add(FEED);
    server.clock.advance(-60 * MINUTE);
    const [item] = await phone.changes();
    expect(await phone.unsubscribe(item.data.sync_id)).toMatchObject({ status: "applied" });
    expect((await user.request("GET", `/subscriptions/${guid}`)).body.is_subscribed).toBe(false);
  });
});

describe("a batch", () => {
  test("that can't be read is 400", async () => {
    for (const body of ["{", {}, [], { requests: {} }, { requests: ["subscribe"] }, { requests: null }]) {
      const answer = await phone.request("POST", "/api/v1/sync", body);
      expect([body, answer.status]).toEqual([body, 400]);
      expect(answer.body).toEqual({
        error: "Bad request",
        description: expect.stringMatching(/^(body|requests)[.\d]*: [^:;]+$/),
      });
    }
  });

  test("with a type, action or action_id that is no text is 400, so that no response repeats it", async () => {
    const good = action("subscribe", now(), { feed_url: FEED });
    for (const bad of [{ type: 5 }, { action: { subscribe: true } }, { action_id: ["1"] }, { type: null }]) {
      const answer = await phone.request("POST", "/api/v1/sync", { requests: [{ ...good, ...bad }, good] });
      expect([bad, answer.status]).toEqual([bad, 400]);
      expect(answer.body.description).toMatch(/requests\.0\.(type|action|action_id): expected string/);
    }
    expect(await listed()).toHaveLength(0);
  });

  test("rejects single actions that can't be read, and does the others", async () => {
    const good = action("subscribe", now(), { feed_url: FEED });
    const bad = [
      { ...good, type: "susbcription" },
      { ...good, action: "subscribed" },
      { ...good, action_id: "1" },
      { ...good, occurred_at: "yesterday" },
      { ...good, data: { feed_url: "feeds.test/1" } },
      { ...good, data: { feed_url: FEED, guid: "1" } },
      { ...good, data: { feed_url: FEED, guid: { toString: "no function" } } },
      { ...good, data: { feed_url: FEED, guid: JSON.parse("[".repeat(3000) + "]".repeat(3000)) } },
      { ...good, data: undefined },
      action("subscribe", now(), { guid: guidOf(1) }),
      {},
    ];
    const results = await phone.send(...bad, good);
    expect(results.map(({ status }) => status)).toEqual([...bad.map(() => "rejected"), "applied"]);
    expect(results.slice(0, -1).map(({ reason }) => reason)).toEqual([
      "type: only subscription is known",
      "action: not one of subscribe, unsubscribe, update",
      "action_id: Not a UUID",
      "occurred_at: Not an RFC 3339 date-time (example: 2026-11-21T18:12:09.602Z)",
      "data.feed_url: No protocol present",
      "data.guid: Not a UUID",
      "data.guid: Not a UUID",
      "data.guid: Not a UUID",
      "data: required",
      "feed_url is required",
      "type: only subscription is known",
    ]);
    expect(results[0]).toMatchObject({ type: "susbcription", data: good.data });
    expect(await listed()).toHaveLength(1);
  });
});

describe("an action_id that comes again", () => {
  test("gives the same status, and nothing is done twice", async () => {
    const subscribe = action("subscribe", now() - 2, { feed_url: FEED });
    const [first] = await phone.send(subscribe);
    server.clock.advance(MINUTE);
    await tablet.unsubscribe(first.data.sync_id);
    const again = { ...first, data: { ...first.data, unsubscribed_at: iso(now()) } };
    expect(await phone.send(subscribe, { ...subscribe, occurred_at: iso(now() + 5) })).toEqual([again, again]);
    expect(await listed()).toEqual([]);
  });

  test("gives the subscription as it is now: its client may have read already what came after it", async () => {
    const { data } = await phone.subscribe(FEED, now() - 3);
    const unsubscribe = action("unsubscribe", now() - 2, { sync_id: data.sync_id });
    await phone.send(unsubscribe);
    await tablet.subscribe(FEED, now() - 1);
    const [retried] = await phone.send(unsubscribe);
    expect([retried.status, retried.data]).toEqual(["applied", { ...data, subscribed_at: iso(now() - 1) }]);
    // Merged into another one, and deleted.
    const { data: other } = await tablet.subscribe(OTHER, now());
    server.clock.advance(MINUTE);
    await tablet.send(action("update", now(), { sync_id: data.sync_id, feed_url: OTHER }));
    const [merged] = await phone.send(unsubscribe);
    expect(merged.data.feed_url).toBe(OTHER);
    await user.remove(other.guid);
    await server.drain();
    const [deleted] = await phone.send(unsubscribe);
    expect(deleted).toMatchObject({
      status: "applied",
      data: { feed_url: OTHER, unsubscribed_at: expect.any(String) },
    });
  });

  test("with another action is rejected", async () => {
    const subscribe = action("subscribe", now(), { feed_url: FEED });
    await phone.send(subscribe);
    const [result] = await phone.send({ ...subscribe, data: { feed_url: OTHER } });
    expect(result).toMatchObject({ status: "rejected", reason: "action_id was used for another action" });
    expect(await listed()).toHaveLength(1);
  });

  test("is forgotten after 30 days", async () => {
    const { pruneSyncActions } = await import("../../../src/services/openpodcast-draft/sync-actions.ts");
    const subscribe = action("subscribe", now(), { feed_url: FEED });
    const [{ data }] = await phone.send(subscribe);
    await user.request("PATCH", `/subscriptions/${data.guid}`, { is_subscribed: false });
    server.clock.advance(29 * 24 * 60 * MINUTE);
    await pruneSyncActions(server.app);
    expect((await phone.send(subscribe))[0].status).toBe("applied");
    server.clock.advance(2 * 24 * 60 * MINUTE);
    await pruneSyncActions(server.app);
    expect((await phone.send(subscribe))[0].status).toBe("ignored");
  });
});

describe("changes", () => {
  test("come page by page, by absolute URLs that keep the other parameters", async () => {
    const all = Array.from({ length: 5 }, (_, n) => `${FEED}/${n}`);
    await phone.send(...all.map((feed_url) => action("subscribe", START, { feed_url })));
    const { body, headers } = await tablet.request("GET", "/api/v1/sync?limit=2&include=subscriptions");
    expect(headers.get("Open-Podcast-Draft")).toBe("8d03a20");
    expect([body.has_next, body.has_more, body.results.length]).toEqual([true, true, 2]);
    const next = new URL(body.next_since);
    expect(next.href).toStartWith("http://podkeep.test/api/v1/sync?");
    expect(Object.fromEntries(next.searchParams)).toEqual({
      limit: "2",
      include: "subscriptions",
      since: body.results[1].last_updated,
    });
    const changes = await tablet.changes("", "&limit=2");
    expect(feedsOf(changes)).toEqual(all);
    expect(new Set(changes.map(({ last_updated }) => last_updated)).size).toBe(5);
  });

  test("leave out what the asking client changed last, unless it wants them or does not say who it is", async () => {
    const { data } = await phone.subscribe(FEED);
    await tablet.subscribe(OTHER);
    expect(feedsOf(await phone.changes())).toEqual([OTHER]);
    expect(feedsOf(await phone.changes("", "&include_own=true"))).toEqual([FEED, OTHER]);
    expect(feedsOf(await draftClient(server, user, null).changes())).toEqual([FEED, OTHER]);
    await user.request("PATCH", `/subscriptions/${data.guid}`, { new_feed_url: `${FEED}/moved` });
    expect(feedsOf(await phone.changes())).toEqual([OTHER, `${FEED}/moved`]);
    const app = draftClient(server, await user.another(), tablet.id);
    expect(feedsOf(await app.changes())).toEqual([OTHER, `${FEED}/moved`]);
  });

  test("fill their pages although own changes are left out", async () => {
    for (let n = 0; n < 3; n++) await phone.subscribe(`${FEED}/${n}`);
    await tablet.subscribe(OTHER);
    const { body } = await phone.request("GET", "/api/v1/sync?limit=1");
    expect([feedsOf(body.results), body.has_next]).toEqual([[OTHER], false]);
  });

  test("have what other protocols changed, also from before the draft was on", async () => {
    await server.close();
    server = await openTestApp();
    user = await server.user();
    await user.add(FEED, guidOf(1));
    await user.add(OTHER);
    await user.request("PATCH", `/subscriptions/${guidOf(1)}`, { is_subscribed: false });
    expect((await user.request("GET", "/api/v1/sync")).status).not.toBe(200);
    server.app.config.open_podcast_draft = "on";
    await server.reopen();
    tablet = draftClient(server, user);
    const changes = await tablet.changes();
    expect(feedsOf(changes)).toEqual([OTHER, `${FEED} off`]);
    expect(changes[1].data.unsubscribed_at).toBe(changes[1].last_updated);
    expect(await tablet.changes()).toEqual(changes);
  });

  test("have a deleted subscription as unsubscribed; by its sync_id it is not found", async () => {
    const { data } = await phone.subscribe(FEED);
    await user.remove(data.guid);
    await server.drain();
    expect(feedsOf(await tablet.changes())).toEqual([`${FEED} off`]);
    expect((await tablet.request("GET", `/api/v1/subscriptions/${data.sync_id}`)).status).toBe(404);
    expect(await tablet.unsubscribe(data.sync_id)).toMatchObject({ status: "ignored" });
    expect(await tablet.update(data.sync_id, { feed_url: OTHER })).toMatchObject({ status: "rejected" });
  });

  test("made while the draft was off are told when it is on again", async () => {
    const { data } = await phone.subscribe(FEED, now() - MINUTE);
    const since = (await tablet.changes()).at(-1).last_updated;
    server.app.config.open_podcast_draft = "off";
    server.clock.advance(2);
    await user.request("PATCH", `/subscriptions/${data.guid}`, { is_subscribed: false });
    server.app.config.open_podcast_draft = "on";
    const [item] = await phone.changes(since);
    expect(item.data).toEqual({ ...data, unsubscribed_at: iso(now()) });
    expect(await tablet.subscribe(FEED, now() - 1)).toMatchObject({ status: "ignored" });
  });

  test("made while the draft was off leave room for a wish that changes nothing: what was said before it is ignored", async () => {
    const { data } = await phone.subscribe(FEED, now() - MINUTE);
    server.app.config.open_podcast_draft = "off";
    for (const is_subscribed of [false, true]) {
      await user.request("PATCH", `/subscriptions/${data.guid}`, { is_subscribed });
    }
    server.app.config.open_podcast_draft = "on";
    server.clock.advance(MINUTE);
    expect(await tablet.subscribe(FEED)).toMatchObject({ status: "ignored" });
    expect(await phone.unsubscribe(data.sync_id, now() - 1)).toMatchObject({ status: "ignored" });
  });

  test("have what was merged while the draft was off, and its sync_id leads to what it became part of", async () => {
    const [from, into] = [(await phone.subscribe(FEED)).data, (await phone.subscribe(OTHER)).data];
    const since = (await tablet.changes()).at(-1).last_updated;
    server.app.config.open_podcast_draft = "off";
    await user.request("PATCH", `/subscriptions/${from.guid}`, { new_guid: into.guid });
    server.app.config.open_podcast_draft = "on";
    expect(feedsOf(await tablet.changes(since))).toEqual([`${FEED} off`, OTHER]);
    const { body } = await tablet.request("GET", `/api/v1/subscriptions/${from.sync_id}`);
    expect(body).toEqual((await listed())[0]);
    server.clock.advance(MINUTE);
    expect(await phone.unsubscribe(from.sync_id)).toMatchObject({ status: "applied", data: { sync_id: into.sync_id } });
  });

  test("refuse parameters that can't be read", async () => {
    for (const query of ["since=yesterday", "limit=0", "limit=x", "include=episodes", "include_own=maybe"]) {
      expect([query, (await phone.request("GET", `/api/v1/sync?${query}`)).status]).toEqual([query, 400]);
    }
    const twice = await phone.request("GET", "/api/v1/sync?limit=1&limit=2");
    expect([twice.status, twice.body.description]).toEqual([400, "limit: Given more than once"]);
    expect((await phone.request("GET", "/api/v1/sync?include=all&include=subscriptions")).status).toBe(200);
    expect((await user.request("GET", "/api/v1/sync", undefined, { "Client-ID": "me" })).status).toBe(400);
    expect((await phone.request("GET", "/api/v1/subscriptions/1")).status).toBe(400);
  });
});

describe("subscriptions", () => {
  test("are listed page by page, unsubscribed ones only if wanted", async () => {
    const feeds = Array.from({ length: 5 }, (_, n) => `${FEED}/${n}`);
    const made = await phone.send(...feeds.map((feed_url) => action("subscribe", START, { feed_url })));
    await phone.unsubscribe(made[1].data.sync_id);
    for (const [query, expected] of [
      ["", feeds.toSpliced(1, 1)],
      ["&include_unsubscribed=true", feeds],
    ] as const) {
      const found = [];
      for (let path: string | undefined = `/api/v1/subscriptions?limit=2${query}`; path; ) {
        const { body }: Answer = await phone.request("GET", path);
        expect(body.results.length).toBeLessThanOrEqual(2);
        expect(body.has_next).toBe(body.next_cursor !== undefined);
        found.push(...body.results.map(({ feed_url }: { feed_url: string }) => feed_url));
        path = body.next_cursor;
      }
      expect(found).toEqual([...expected]);
    }
    expect((await phone.request("GET", "/api/v1/subscriptions?since=x")).status).toBe(400);
  });
});

test("a page of a long list from before the draft makes entities of a part, so that others don't wait for all", async () => {
  await addFeeds(
    server.app,
    user.id,
    Array.from({ length: 1200 }, (_, n) => `${FEED}/${n}`),
  );
  await server.sql("delete from sync_entities");
  expect((await phone.request("GET", "/api/v1/sync?limit=10")).body.results).toHaveLength(10);
  expect(await server.sql("select count(*) as count from sync_entities")).toMatchObject([{ count: 500 }]);
  const told = feedsOf(await phone.changes("", "&limit=1000"));
  expect(new Set(told).size).toBe(1200);
});
