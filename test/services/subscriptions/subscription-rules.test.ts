// How subscriptions, their guids and their feed URLs change: adding, moves, chains of guids, merges.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { guidOf, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";

const [A, B, C, D] = [1, 2, 3, 4].map(guidOf) as [string, string, string, string];
const [FEED_A, FEED_B, FEED_C] = ["https://a.example/", "https://b.example/", "https://c.example/"] as const;
const PODNEWS = "https://podnews.net/rss";
const COMPUTED = "9b024349-ccf0-5f69-a609-6b82873eab3c";

let server: TestApp;
let user: TestUser;

beforeEach(async () => {
  server = await openTestApp();
  user = await server.user();
});
afterEach(() => server.close());

const get = async (guid: string) => (await user.request("GET", `/subscriptions/${guid}`)).body;
const patch = async (guid: string, body: object) => (await user.request("PATCH", `/subscriptions/${guid}`, body)).body;
const total = async () => (await user.changes()).filter((item) => !item.deleted).length;
async function erase(guid: string) {
  await user.remove(guid);
  await server.drain();
}
/** What changes later gets a later timestamp. */
const later = () => server.clock.advance(1000);
async function changesNothing(work: () => Promise<unknown>) {
  const before = await user.changes();
  later();
  const answer = await work();
  expect(await user.changes()).toEqual(before);
  return answer;
}

describe("adding without a guid", () => {
  test("a feed that is subscribed changes nothing, in any spelling of its URL", async () => {
    const first = await user.add(FEED_A);
    expect(await changesNothing(() => user.add("http://A.EXAMPLE"))).toEqual(first);
  });

  test("an unsubscribed feed subscribes to it again", async () => {
    const { guid } = await user.add(FEED_A);
    await patch(guid, { is_subscribed: false });
    later();
    expect(await user.add(FEED_A)).toMatchObject({ guid, is_subscribed: true });
    expect(await get(guid)).toMatchObject({ is_subscribed: true, subscription_changed: "2026-01-01T00:00:01.000Z" });
  });

  test("a deleted feed revives it, with the URL as it is sent now", async () => {
    const { guid } = await user.add(FEED_A, A);
    await erase(guid);
    later();
    expect(await user.add("http://a.example")).toMatchObject({ guid: A, feed_url: "http://a.example" });
    expect(await user.changes()).toEqual([
      { feed_url: "http://a.example", guid: A, is_subscribed: true, subscription_changed: "2026-01-01T00:00:01.000Z" },
    ]);
  });

  test("a subscription added on an old URL is the moved one", async () => {
    await user.add(FEED_A, A);
    await patch(A, { new_feed_url: FEED_B });
    await changesNothing(() => user.add(FEED_A));
    expect(await user.add(FEED_A)).toMatchObject({ guid: A, feed_url: FEED_B });
  });

  test("an old URL of a deleted subscription revives it there", async () => {
    await user.add(FEED_A, A);
    await patch(A, { new_feed_url: FEED_B });
    await erase(A);
    expect(await user.add(FEED_A)).toMatchObject({ guid: A, feed_url: FEED_A });
    expect(await user.add(FEED_B)).toMatchObject({ guid: A, feed_url: FEED_A });
    expect(await total()).toBe(1);
  });

  test("finds the subscription with the computed guid, without changing its URL or guid", async () => {
    await user.add(FEED_A, COMPUTED);
    expect(await changesNothing(() => user.add(PODNEWS))).toMatchObject({ guid: COMPUTED, feed_url: FEED_A });
  });

  test("finds the subscription that once had the computed guid, even if deleted, and revives it on the URL sent", async () => {
    await user.add(FEED_A, COMPUTED);
    await patch(COMPUTED, { new_guid: A });
    await erase(A);
    expect(await user.add(PODNEWS)).toMatchObject({ guid: A, feed_url: PODNEWS });
  });

  test("prefers the URL's subscription over the computed guid's", async () => {
    await user.add(PODNEWS, A);
    await user.add(FEED_B, COMPUTED);
    expect(await changesNothing(() => user.add(PODNEWS))).toMatchObject({ guid: A });
  });
});

describe("adding with a guid that is known", () => {
  test("moves the subscription to a URL that is new to it", async () => {
    await user.add(FEED_A, A);
    later();
    expect(await user.add(FEED_B, A)).toEqual({
      feed_url: FEED_B,
      guid: A,
      is_subscribed: true,
      subscription_changed: "2026-01-01T00:00:01.000Z",
    });
    expect(await user.add(FEED_A)).toMatchObject({ guid: A, feed_url: FEED_B });
  });

  test("does not move it back to a URL that it had before", async () => {
    await user.add(FEED_A, A);
    await user.add(FEED_B, A);
    expect(await changesNothing(() => user.add(FEED_A, A))).toMatchObject({ feed_url: FEED_B });
  });

  test("finds it by a retired guid, and returns the current one", async () => {
    await user.add(FEED_A, A);
    await patch(A, { new_guid: B });
    expect(await changesNothing(() => user.add(FEED_A, A))).toMatchObject({ guid: B });
  });

  test.each([
    ["that it had before", FEED_A],
    ["in another spelling", "http://b.example"],
    ["that is new to it", FEED_C],
  ])("revives a deleted one with the URL as it is sent now, also one %s", async (_, feed_url) => {
    await user.add(FEED_A, A);
    await user.add(FEED_B, A);
    await erase(A);
    expect(await user.add(feed_url, A)).toMatchObject({ guid: A, feed_url, is_subscribed: true });
    expect(await get(A)).toMatchObject({ guid: A, feed_url });
    expect(await total()).toBe(1);
  });

  test("and the URL of another one merges that one into it", async () => {
    await user.add(FEED_A, A);
    await user.add(FEED_B, B);
    expect(await user.add(FEED_B, A)).toMatchObject({ guid: A, feed_url: FEED_B });
    expect(await get(B)).toMatchObject({ guid: B, new_guid: A, feed_url: FEED_B });
    expect(await user.add(FEED_A)).toMatchObject({ guid: A });
    expect(await total()).toBe(1);
  });

  test("and the URL of another one, both deleted, revives one with the URL sent", async () => {
    await user.add(FEED_A, A);
    await user.add(FEED_B, B);
    await erase(A);
    await erase(B);
    expect(await user.add(FEED_B, A)).toMatchObject({ guid: A, feed_url: FEED_B, is_subscribed: true });
    expect(await get(B)).toMatchObject({ new_guid: A });
    expect(await user.changes()).toHaveLength(1);
  });
});

describe("adding with an unknown guid", () => {
  test("on the current URL replaces the guid", async () => {
    await user.add(PODNEWS);
    later();
    expect(await user.add(PODNEWS, A)).toMatchObject({ guid: A });
    expect(await get(COMPUTED)).toMatchObject({ new_guid: A, guid_changed: "2026-01-01T00:00:01.000Z" });
    expect(await changesNothing(() => user.add(PODNEWS))).toMatchObject({ guid: A });
  });

  test("on the URL of a deleted one replaces the guid and revives it", async () => {
    await user.add(FEED_A, A);
    await user.add(FEED_B, A);
    await erase(A);
    expect(await user.add(FEED_A, B)).toMatchObject({ guid: B, feed_url: FEED_A });
    expect(await get(A)).toMatchObject({ new_guid: B });
  });

  test("on a former URL of a live one becomes one more guid of it", async () => {
    await user.add(FEED_A, A);
    await user.add(FEED_B, A);
    later();
    expect(await user.add(FEED_A, B)).toMatchObject({ guid: A, feed_url: FEED_B });
    expect(await get(B)).toMatchObject({ guid: B, new_guid: A, guid_changed: "2026-01-01T00:00:01.000Z" });
    expect(await user.changes()).toMatchObject([{ guid: B, new_guid: A }]);
    await changesNothing(() => user.add(FEED_A, B));
  });
});

describe("one request may", () => {
  const add = (...subscriptions: object[]) => user.request("POST", "/subscriptions", { subscriptions });

  test("move, merge and add again what it has just added; the response has the final state", async () => {
    const items = [
      { feed_url: FEED_A, guid: A },
      { feed_url: FEED_B, guid: B },
      { feed_url: FEED_B, guid: A },
      { feed_url: FEED_C, guid: B },
      { feed_url: FEED_C, guid: C },
    ];
    const { body } = await add(...items);
    expect(body.success.map((item: { guid: string }) => item.guid)).toEqual([C, C, C, C, C]);
    expect(new Set(body.success.map((item: { feed_url: string }) => item.feed_url))).toEqual(new Set([FEED_C]));
    expect(await user.changes()).toMatchObject([
      { guid: A, new_guid: C },
      { guid: B, new_guid: C },
    ]);
    expect(await changesNothing(async () => (await add(...items)).body)).toEqual(body);
  });

  test("lead to it by a URL that it had within one request only, also once it was merged into another", async () => {
    await user.add(FEED_B, B);
    await add({ feed_url: FEED_A, guid: A }, { feed_url: FEED_C, guid: A });
    expect(await changesNothing(() => user.add(FEED_A))).toMatchObject({ guid: A, feed_url: FEED_C });
    await patch(A, { new_guid: B });
    for (const feed_url of [FEED_A, FEED_C])
      expect(await user.add(feed_url)).toMatchObject({ guid: B, feed_url: FEED_B });
    expect(await user.changes()).toHaveLength(1);
  });

  test("merge three into one by a chain", async () => {
    for (const [feed_url, guid] of [
      [FEED_A, A],
      [FEED_B, B],
      [FEED_C, C],
    ] as const)
      await user.add(feed_url, guid);
    await add({ feed_url: FEED_A, guid: B }, { feed_url: FEED_B, guid: C });
    for (const guid of [A, B]) expect(await get(guid)).toMatchObject({ new_guid: C, feed_url: FEED_B });
    for (const feed_url of [FEED_A, FEED_B, FEED_C]) expect(await user.add(feed_url)).toMatchObject({ guid: C });
    expect(await user.changes()).toHaveLength(2);
  });
});

describe("a new guid", () => {
  test("is found by every guid before it, through a long chain", async () => {
    await user.add(FEED_A, guidOf(1));
    for (let n = 1; n < 20; n++) await patch(guidOf(n), { new_guid: guidOf(n + 1) });
    for (let n = 1; n < 20; n++) expect(await get(guidOf(n))).toMatchObject({ guid: guidOf(n), new_guid: guidOf(20) });
    expect(await get(guidOf(20))).not.toHaveProperty("new_guid");
    expect(await patch(guidOf(3), { is_subscribed: false })).toMatchObject({ new_guid: guidOf(20) });
    await erase(guidOf(7));
    for (let n = 1; n <= 20; n++) expect((await user.request("GET", `/subscriptions/${guidOf(n)}`)).status).toBe(410);
  });

  test("that is current already changes nothing, by any guid in the path", async () => {
    await user.add(FEED_A, A);
    expect(await changesNothing(() => patch(A, { new_guid: A }))).toEqual({ new_guid: A });
    const { guid_changed } = await patch(A, { new_guid: B });
    expect(await changesNothing(() => patch(A, { new_guid: B }))).toEqual({ new_guid: B, guid_changed });
    expect(await changesNothing(() => patch(B, { new_guid: B }))).toEqual({ new_guid: B, guid_changed });
  });

  test("that it had before is taken up again by the current guid", async () => {
    await user.add(FEED_A, A);
    await patch(A, { new_guid: B });
    expect(await patch(B, { new_guid: A })).toMatchObject({ new_guid: A });
    expect(await get(A)).not.toHaveProperty("new_guid");
    expect(await get(B)).toMatchObject({ new_guid: A });
    expect(await user.changes()).toMatchObject([{ guid: B, new_guid: A }]);
  });

  test("that it had before, sent by a retired guid, is a late retry: nothing changes", async () => {
    await user.add(FEED_A, A);
    await patch(A, { new_guid: B });
    await patch(B, { new_guid: C });
    expect(await changesNothing(() => patch(A, { new_guid: B }))).toMatchObject({ new_guid: C });
  });

  test("that no subscription has, sent by a retired guid, replaces the current one", async () => {
    await user.add(FEED_A, A);
    await patch(A, { new_guid: B });
    expect(await patch(A, { new_guid: C })).toMatchObject({ new_guid: C });
    expect(await get(B)).toMatchObject({ new_guid: C });
  });
});

describe("merging by a new guid", () => {
  beforeEach(async () => {
    await user.add(FEED_A, A);
    await user.add(FEED_B, B);
    later();
  });

  test("all guids and URLs of both lead to the one that keeps its URL", async () => {
    await patch(A, { new_guid: C });
    expect(await patch(C, { new_guid: B })).toMatchObject({ new_guid: B });
    for (const guid of [A, C]) expect(await get(guid)).toMatchObject({ guid, new_guid: B, feed_url: FEED_B });
    expect(await user.add(FEED_A)).toMatchObject({ guid: B, feed_url: FEED_B });
    expect(await total()).toBe(2);
  });

  test("into a retired guid of another leads to that one as it is now", async () => {
    await patch(B, { new_guid: C });
    expect(await patch(A, { new_guid: B })).toMatchObject({ new_guid: C });
    expect(await get(A)).toMatchObject({ new_guid: C, feed_url: FEED_B });
  });

  for (const [one, other, both] of [
    [true, false, true],
    [false, true, true],
    [false, false, false],
  ]) {
    test(`of one that is${one ? "" : " not"} subscribed and one that is${other ? "" : " not"}`, async () => {
      await patch(A, { is_subscribed: one });
      await patch(B, { is_subscribed: other });
      await patch(A, { new_guid: B });
      expect(await get(B)).toMatchObject({ is_subscribed: both });
    });
  }

  test("of two that are subscribed leaves when the one was subscribed that stays", async () => {
    await user.add(FEED_A, A);
    const { subscription_changed } = await user.add(FEED_B, B);
    later();
    await patch(A, { new_guid: B });
    expect(await get(B)).toMatchObject({ is_subscribed: true, subscription_changed });
  });

  test("into a deleted one revives it on the URL of the other", async () => {
    await patch(A, { is_subscribed: false });
    await erase(B);
    await patch(A, { new_guid: B });
    expect(await get(B)).toMatchObject({ feed_url: FEED_A, is_subscribed: false, guid: B });
    expect(await user.add(FEED_B)).toMatchObject({ guid: B, feed_url: FEED_A });
  });

  test("with a URL and a flag in one request applies the guid first", async () => {
    const answer = await patch(A, { new_guid: B, new_feed_url: FEED_C, is_subscribed: false });
    expect(answer).toMatchObject({ new_guid: B, new_feed_url: FEED_C, is_subscribed: false });
    expect(await get(B)).toMatchObject({ feed_url: FEED_C, is_subscribed: false });
  });
});

describe("a new feed URL", () => {
  test("of another subscription merges that one into the patched one", async () => {
    await user.add(FEED_A, A);
    await user.add(FEED_B, B);
    await patch(A, { is_subscribed: false });
    expect(await patch(A, { new_feed_url: FEED_B })).toMatchObject({ new_feed_url: FEED_B });
    expect(await get(B)).toMatchObject({ new_guid: A, feed_url: FEED_B, is_subscribed: true });
    expect(await total()).toBe(1);
  });

  test("of a deleted subscription merges that one and keeps the patched one as it was", async () => {
    await user.add(FEED_A, A);
    await user.add(FEED_B, B);
    await erase(B);
    await patch(A, { is_subscribed: false, new_feed_url: FEED_B });
    expect(await get(B)).toMatchObject({ new_guid: A, feed_url: FEED_B, is_subscribed: false });
    expect(await user.changes()).toMatchObject([{ guid: B, new_guid: A }]);
  });

  test("that it had before is taken up again", async () => {
    await user.add(FEED_A, A);
    await patch(A, { new_feed_url: FEED_B });
    expect(await patch(A, { new_feed_url: FEED_A })).toMatchObject({ new_feed_url: FEED_A });
    expect(await total()).toBe(1);
  });

  test("that differs only in spelling is kept as it is sent; exactly the same is no change", async () => {
    await user.add(FEED_A, A);
    await patch(A, { new_feed_url: "http://a.example" });
    expect(await get(A)).toMatchObject({ feed_url: "http://a.example" });
    await changesNothing(() => patch(A, { new_feed_url: "http://a.example" }));
  });

  test("together with a new guid can merge three subscriptions into one", async () => {
    await user.add(FEED_A, A);
    await user.add(FEED_B, B);
    await user.add(FEED_C, C);
    await patch(A, { new_guid: B, new_feed_url: FEED_C });
    for (const guid of [A, C]) expect(await get(guid)).toMatchObject({ new_guid: B, feed_url: FEED_C });
    expect(await user.changes()).toHaveLength(2);
    expect(await patch(B, { new_guid: D })).toMatchObject({ new_guid: D });
    expect(await user.changes()).toHaveLength(3);
  });
});
