// The routes of subscriptions: fields, statuses and the published texts.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { deleteUser } from "../../../src/services/accounts/user-deletion.ts";
import { guidOf, ORIGIN, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";

const FEED = "https://podnews.net/rss";
const COMPUTED = "9b024349-ccf0-5f69-a609-6b82873eab3c";
const START = "2026-01-01T00:00:00.000Z";

let server: TestApp;
let user: TestUser;

beforeEach(async () => {
  server = await openTestApp();
  user = await server.user();
});
afterEach(() => server.close());

describe("POST /subscriptions", () => {
  const add = (...subscriptions: unknown[]) => user.request("POST", "/subscriptions", { subscriptions });

  test("adds a feed under the guid that the podcast namespace computes from its URL", async () => {
    const { status, body } = await add({ feed_url: FEED });
    expect(status).toBe(200);
    expect(body).toEqual({
      success: [{ feed_url: FEED, guid: COMPUTED, is_subscribed: true, subscription_changed: START }],
      failure: [],
    });
  });

  test("adds a feed under the guid that is sent with it, in lower case", async () => {
    const { body } = await add({ feed_url: FEED, guid: "AAAAAAAA-BBBB-4CCC-8DDD-EEEEEEEEEEEE" });
    expect(body.success[0].guid).toBe("aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee");
  });

  test("accepts guids that podcasts publish though no RFC defines their version", async () => {
    const { body } = await add({ feed_url: FEED, guid: "917393e3-1b1e-0cef-0ace-edaa54e1f810" });
    expect(body.failure).toEqual([]);
  });

  test("decides item by item and responds in the order of the request", async () => {
    const { status, body } = await add(
      { feed_url: "https://a.example/feed" },
      { feed_url: "podnews.net/rss" },
      { feed_url: "https://b.example/feed" },
      { feed_url: "ftp://c.example/feed" },
    );
    expect(status).toBe(200);
    expect(body.success.map((item: { feed_url: string }) => item.feed_url)).toEqual([
      "https://a.example/feed",
      "https://b.example/feed",
    ]);
    expect(body.failure).toEqual([
      { feed_url: "podnews.net/rss", message: "No protocol present" },
      { feed_url: "ftp://c.example/feed", message: "Only http and https are supported" },
    ]);
  });

  test("responds to an empty request with two empty arrays", async () => {
    expect((await add()).body).toEqual({ success: [], failure: [] });
  });

  test("gives each new subscription another timestamp, in the order of the request", async () => {
    const { body } = await add({ feed_url: "https://a.example/" }, { feed_url: "https://b.example/" });
    const stamps = body.success.map((item: { subscription_changed: string }) => item.subscription_changed);
    expect(stamps).toEqual([START, "2026-01-01T00:00:00.001Z"]);
  });

  test("a feed that is twice in one request is one subscription, twice in the response", async () => {
    const { body } = await add({ feed_url: FEED }, { feed_url: "http://PODNEWS.net:80/rss/" });
    expect(body.success).toHaveLength(2);
    expect(body.success[1]).toEqual(body.success[0]);
    expect((await user.request("GET", "/subscriptions")).body.total).toBe(1);
  });

  test("returns the secrets of a private feed exactly as sent", async () => {
    const feed_url = "https://me:p%40ss@Feeds.Example/Show?token=AbC/%2f+x&y";
    const { guid } = await user.add(feed_url);
    expect((await user.request("GET", `/subscriptions/${guid}`)).body.feed_url).toBe(feed_url);
  });

  test("adds a thousand feeds at once, and several pages return all of them", async () => {
    const feeds = Array.from({ length: 1000 }, (_, n) => ({ feed_url: `https://many.example/${n}` }));
    const { body } = await add(...feeds);
    expect(body.success).toHaveLength(1000);
    const seen = await user.changes("", 300);
    expect(seen.map((item) => item.feed_url)).toEqual(feeds.map((feed) => feed.feed_url));
  });
});

describe("GET /subscriptions/{guid}", () => {
  test("returns the subscription", async () => {
    await user.add(FEED);
    const { status, body } = await user.request("GET", `/subscriptions/${COMPUTED}`);
    expect(status).toBe(200);
    expect(body).toEqual({ feed_url: FEED, guid: COMPUTED, is_subscribed: true, subscription_changed: START });
  });

  test("finds it by a guid in upper case", async () => {
    await user.add(FEED);
    const { body } = await user.request("GET", `/subscriptions/${COMPUTED.toUpperCase()}`);
    expect(body.guid).toBe(COMPUTED);
  });

  test("is 404 if it doesn't exist and 410 if it was deleted", async () => {
    expect(await user.request("GET", `/subscriptions/${COMPUTED}`)).toMatchObject({
      status: 404,
      body: { code: "404", message: "Resource not found" },
    });
    await user.add(FEED);
    await user.remove(COMPUTED);
    await server.drain();
    expect(await user.request("GET", `/subscriptions/${COMPUTED}`)).toMatchObject({
      status: 410,
      body: { code: "410", message: "Subscription has been deleted" },
    });
  });
});

describe("PATCH /subscriptions/{guid}", () => {
  const patch = (body: unknown, guid = COMPUTED) => user.request("PATCH", `/subscriptions/${guid}`, body);
  const NEXT = "2026-01-01T00:00:01.000Z";

  beforeEach(async () => {
    await user.add(FEED);
    server.clock.advance(1000);
  });

  test("returns the fields of the request and their timestamps", async () => {
    expect(await patch({ is_subscribed: false })).toMatchObject({ status: 200 });
    expect((await patch({ is_subscribed: false })).body).toEqual({ is_subscribed: false, subscription_changed: NEXT });
    expect((await patch({ new_feed_url: "https://b.example/" })).body).toEqual({
      new_feed_url: "https://b.example/",
      subscription_changed: "2026-01-01T00:00:01.001Z",
    });
    expect((await patch({ new_guid: guidOf(1) })).body).toEqual({
      new_guid: guidOf(1),
      guid_changed: "2026-01-01T00:00:01.002Z",
    });
  });

  test("changes all three at once", async () => {
    const body = { new_feed_url: "https://b.example/", new_guid: guidOf(1), is_subscribed: false };
    expect((await patch(body)).body).toEqual({ ...body, subscription_changed: NEXT, guid_changed: NEXT });
    expect((await user.request("GET", `/subscriptions/${guidOf(1)}`)).body).toEqual({
      feed_url: "https://b.example/",
      guid: guidOf(1),
      is_subscribed: false,
      subscription_changed: NEXT,
      guid_changed: NEXT,
    });
  });

  test("without fields is 200 without fields and changes nothing", async () => {
    const { headers } = await user.request("GET", "/subscriptions");
    expect(await patch({})).toMatchObject({ status: 200, body: {} });
    expect((await user.request("GET", "/subscriptions")).headers.get("etag")).toBe(headers.get("etag"));
  });

  test("by a retired guid it always returns the current one", async () => {
    await patch({ new_guid: guidOf(1) });
    const { body } = await patch({ is_subscribed: false });
    expect(body).toMatchObject({ is_subscribed: false, new_guid: guidOf(1), guid_changed: NEXT });
  });

  test("is 404 if it doesn't exist or was deleted, and an invalid feed URL changes nothing at all", async () => {
    expect((await patch({ is_subscribed: false }, guidOf(9))).status).toBe(404);
    const bad = await patch({ is_subscribed: false, new_guid: guidOf(1), new_feed_url: "ftp://b.example" });
    expect(bad).toMatchObject({ status: 405, body: { details: ["new_feed_url: Only http and https are supported"] } });
    expect((await user.request("GET", `/subscriptions/${COMPUTED}`)).body).toMatchObject({ is_subscribed: true });
    await user.remove(COMPUTED);
    await server.drain();
    expect((await patch({ is_subscribed: true })).status).toBe(404);
  });
});

describe("DELETE /subscriptions/{guid}", () => {
  test("returns an id and the published text, and is not done yet", async () => {
    await user.add(FEED);
    const { status, body } = await user.request("DELETE", `/subscriptions/${COMPUTED}`);
    expect(status).toBe(202);
    expect(body).toEqual({ deletion_id: 1, message: "Deletion request was received and will be processed" });
    expect((await user.request("GET", `/subscriptions/${COMPUTED}`)).status).toBe(200);
  });

  test("is 404 if it doesn't exist or was deleted", async () => {
    expect((await user.request("DELETE", `/subscriptions/${COMPUTED}`)).status).toBe(404);
    await user.add(FEED);
    await user.remove(COMPUTED);
    await server.drain();
    expect((await user.request("DELETE", `/subscriptions/${COMPUTED}`)).status).toBe(404);
  });
});

describe("GET /subscriptions", () => {
  test("of a new user is empty", async () => {
    const { status, body } = await user.request("GET", "/subscriptions");
    expect(status).toBe(200);
    expect(body).toEqual({ total: 0, page: 1, per_page: 50, subscriptions: [] });
  });

  test("has every field of each subscription, oldest change first", async () => {
    await user.add("https://a.example/", guidOf(1));
    await user.add("https://b.example/", guidOf(2));
    await user.request("PATCH", `/subscriptions/${guidOf(1)}`, { new_guid: guidOf(3) });
    await user.remove(guidOf(2));
    await server.drain();
    expect((await user.request("GET", "/subscriptions")).body.subscriptions).toEqual([
      {
        feed_url: "https://a.example/",
        guid: guidOf(1),
        is_subscribed: true,
        subscription_changed: START,
        new_guid: guidOf(3),
        guid_changed: "2026-01-01T00:00:00.002Z",
      },
      {
        feed_url: "https://b.example/",
        guid: guidOf(2),
        is_subscribed: false,
        subscription_changed: "2026-01-01T00:00:00.001Z",
        deleted: "2026-01-01T00:00:00.003Z",
      },
    ]);
  });

  test("reduces a large per_page to the limit and returns the value used", async () => {
    expect((await user.request("GET", "/subscriptions?per_page=501")).body.per_page).toBe(500);
    expect((await user.request("GET", "/subscriptions?per_page=99999999999999999999")).body.per_page).toBe(500);
  });

  test("links keep the prefix, query and host of the request", async () => {
    for (const n of [1, 2, 3]) await user.add(`https://${n}.example/`);
    const since = "2025-12-31T22:00:00-01:00";
    const first = (await user.request("GET", `/v1/subscriptions?since=${since}&per_page=2`)).body;
    expect(first.next).toStartWith(`${ORIGIN}/v1/subscriptions?`);
    expect(first.previous).toBeUndefined();
    const next = new URL(first.next).searchParams;
    expect([next.get("since"), next.get("page"), next.get("per_page")]).toEqual([since, "2", "2"]);
    const second = (await user.request("GET", first.next)).body;
    expect(second.next).toBeUndefined();
    expect(new URL(second.previous).searchParams.get("page")).toBe("1");
    const back = (await user.request("GET", second.previous)).body;
    expect(back.subscriptions).toEqual(first.subscriptions);
  });
});

describe("parameters as generated clients write them", () => {
  test("whole numbers can have a fraction of zeros", async () => {
    for (const n of [1, 2, 3]) await user.add(`https://${n}.example/`, guidOf(n));
    const { body } = await user.request("GET", "/subscriptions?page=2.0&per_page=2.00");
    expect(body).toMatchObject({ page: 2, per_page: 2, subscriptions: [{ guid: guidOf(3) }] });
    await user.remove(guidOf(1));
    expect((await user.request("GET", "/deletions/1.0")).body).toMatchObject({ deletion_id: 1 });
  });

  test("an empty parameter is none", async () => {
    await user.add(FEED);
    const expected = (await user.request("GET", "/subscriptions")).body;
    for (const query of ["since=", "page=", "per_page=", "cursor=", "since=&page=&per_page=&cursor="]) {
      expect(await user.request("GET", `/subscriptions?${query}`)).toMatchObject({ status: 200, body: expected });
    }
  });

  test("since can lack seconds, and without an offset it is UTC", async () => {
    await user.add("https://a.example/");
    server.clock.advance(60_000);
    await user.add("https://b.example/");
    const totalSince = async (since: string) => (await user.request("GET", `/subscriptions?since=${since}`)).body.total;
    for (const since of ["2026-01-01T00:00:30", "2026-01-01T00:00:59.999999"]) expect(await totalSince(since)).toBe(1);
    for (const since of ["2026-01-01T00:01Z", "2026-01-01T00:01"]) expect(await totalSince(since)).toBe(0);
  });
});

test("the routes answer at / and at /v1", async () => {
  await user.request("POST", "/v1/subscriptions", { subscriptions: [{ feed_url: FEED }] });
  for (const path of ["/subscriptions", `/subscriptions/${COMPUTED}`]) {
    expect((await user.request("GET", path)).body).toEqual((await user.request("GET", `/v1${path}`)).body);
  }
});

test("HEAD responds like GET, without a body but with its length", async () => {
  await user.add("https://bücher.example/");
  for (const path of ["/subscriptions", `/subscriptions/${guidOf(1)}`]) {
    const get = await user.request("GET", path);
    const head = await user.request("HEAD", path);
    expect(head).toMatchObject({ status: get.status, body: "" });
    expect(head.headers.get("etag")).toBe(get.headers.get("etag"));
    expect(Number(head.headers.get("content-length"))).toBe(Buffer.byteLength(JSON.stringify(get.body)));
  }
  const headers = { "If-None-Match": "*" };
  const unchanged = await user.request("HEAD", "/subscriptions", undefined, headers);
  expect([unchanged.status, unchanged.headers.get("content-length")]).toEqual([304, null]);
});

test("a repeated write has the same response", async () => {
  await user.add("https://other.example/", guidOf(7));
  const writes: [string, string, unknown][] = [
    ["POST", "/subscriptions", { subscriptions: [{ feed_url: FEED }, { feed_url: FEED, guid: guidOf(1) }] }],
    ["PATCH", `/subscriptions/${guidOf(1)}`, { is_subscribed: false }],
    ["PATCH", `/subscriptions/${guidOf(1)}`, { new_feed_url: "https://moved.example/" }],
    ["PATCH", `/subscriptions/${guidOf(1)}`, { new_guid: guidOf(2) }],
    ["PATCH", `/subscriptions/${guidOf(2)}`, { new_guid: guidOf(1) }],
    ["PATCH", `/subscriptions/${guidOf(1)}`, { new_guid: guidOf(7) }],
    ["PATCH", `/subscriptions/${guidOf(7)}`, { new_feed_url: FEED, new_guid: guidOf(8), is_subscribed: true }],
    ["DELETE", `/subscriptions/${guidOf(1)}`, undefined],
  ];
  for (const [method, path, body] of writes) {
    const first = await user.request(method, path, body);
    const after = await user.request("GET", "/subscriptions");
    server.clock.advance(1000);
    expect(await user.request(method, path, body)).toMatchObject({ status: first.status, body: first.body });
    expect((await user.request("GET", "/subscriptions")).body).toEqual(after.body);
  }
});

test.each([
  ["POST", "/subscriptions", { subscriptions: [{ feed_url: FEED }] }],
  ["PATCH", `/subscriptions/${COMPUTED}`, { is_subscribed: false }],
])("a %s whose user is deleted while it is sent is not authorized", async (method, path, body) => {
  await user.add(FEED);
  const stream = new ReadableStream(
    {
      async pull(controller) {
        await deleteUser(server.app, user.name);
        controller.enqueue(new TextEncoder().encode(JSON.stringify(body)));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const headers = { Authorization: `Bearer ${user.token}`, "Content-Type": "application/json" };
  const answer = await server.send(method, path, { body: stream, headers });
  expect(answer).toMatchObject({ status: 401, body: { code: "401", message: "User not authorized" } });
});
