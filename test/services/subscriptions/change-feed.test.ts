// The change feed: order, pages, cursors, and what an app gets with `since`.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { guidOf, openTestApp, START, type TestApp, type TestUser } from "../../support/app.ts";
import { walkPages } from "../../support/pages.ts";

let server: TestApp;
let user: TestUser;

beforeEach(async () => {
  server = await openTestApp({ max_per_page: "100" });
  user = await server.user();
});
afterEach(() => server.close());

interface Item {
  guid: string;
  new_guid?: string;
  subscription_changed: string;
  guid_changed?: string;
  deleted?: string;
}

const read = async (link: string) => (await user.request("GET", link)).body;
const page = (query: string) => read(`/subscriptions?${query}`);
const patch = async (n: number, body: object) =>
  (await user.request("PATCH", `/subscriptions/${guidOf(n)}`, body)).body;
const add = (n: number) => user.add(`https://${n}.example/`, guidOf(n));
const place = (item: Item) =>
  [item.subscription_changed, item.guid_changed ?? "", item.deleted ?? ""].sort().at(-1) ?? "";
const names = (items: Item[]) => items.map(({ guid }) => parseInt(guid.slice(0, 8), 16));

async function fill(count: number) {
  const subscriptions = Array.from({ length: count }, (_, n) => ({
    feed_url: `https://${n + 1}.example/`,
    guid: guidOf(n + 1),
  }));
  await user.request("POST", "/subscriptions", { subscriptions });
}

describe("since", () => {
  test("returns only what changed later, and nothing for the newest timestamp", async () => {
    await fill(3);
    const items = await user.changes();
    expect(names(await user.changes(items[0].subscription_changed))).toEqual([2, 3]);
    expect(await page(`since=${items[2].subscription_changed}`)).toMatchObject({ total: 0, subscriptions: [] });
  });

  test("includes every kind of change, in the order of the item's latest timestamp", async () => {
    await fill(5);
    let since = place((await user.changes()).at(-1));
    const changes: [string, () => Promise<unknown>, number[]][] = [
      ["unsubscribed", () => patch(1, { is_subscribed: false }), [1]],
      ["moved", () => patch(2, { new_feed_url: "https://moved.example/" }), [2]],
      ["another guid", () => patch(3, { new_guid: guidOf(9) }), [3]],
      ["merged", () => patch(4, { new_guid: guidOf(5) }), [4]],
      ["deleted", () => user.remove(guidOf(1)).then(server.drain), [1]],
      ["revived", () => add(1), [1]],
      ["deletion cancelled", () => user.remove(guidOf(2)).then(() => add(2)), [2]],
    ];
    for (const [, change, expected] of changes) {
      await change();
      const items = await user.changes(since);
      expect(names(items)).toEqual(expected);
      expect(place(items[0]) > since).toBe(true);
      since = place(items[0]);
    }
    expect(await user.changes(since)).toEqual([]);
  });

  test("compares timestamps by the millisecond, with any offset and any number of digits", async () => {
    await fill(2);
    const first = "2026-01-01T01:00:00";
    for (const [since, expected] of [
      [`${first}.000%2B01:00`, [2]],
      [`${first}+01:00`, [2]],
      [`${first}.0009%2B01:00`, [2]],
      [`${first}.001%2B01:00`, []],
      ["2025-12-31T23:59:59.999Z", [1, 2]],
      ["1969-12-31T23:59:59Z", [1, 2]],
      ["0001-01-01T00:00:00Z", [1, 2]],
      ["9999-12-31T23:59:59Z", []],
      ["", [1, 2]],
    ] as const) {
      expect(names((await page(`since=${since}`)).subscriptions)).toEqual([...expected]);
    }
  });
});

describe("timestamps", () => {
  test("strictly increase even if the wall clock stands still or goes back", async () => {
    const stamps: string[] = [];
    for (const [n, now] of [START, START, START - 3_600_000, 0, START + 5].entries()) {
      server.clock.set(now);
      stamps.push((await add(n + 1)).subscription_changed);
    }
    expect(stamps.map((stamp) => Date.parse(stamp) - START)).toEqual([0, 1, 2, 3, 5]);
    await server.reopen();
    server.clock.set(0);
    expect(Date.parse((await add(9)).subscription_changed) - START).toBe(6);
  });

  test("are one per subscription and request, however many changes it had", async () => {
    await fill(3);
    server.clock.advance(1000);
    const subscriptions = [1, 2, 3].map((n) => ({ feed_url: `https://moved${n}.example/`, guid: guidOf(n) }));
    await user.request("POST", "/subscriptions", { subscriptions });
    const places = (await user.changes()).map(place);
    expect(places.map((one) => Date.parse(one) - START)).toEqual([1000, 1001, 1002]);
  });

  test("do not move if nothing changes", async () => {
    await fill(1);
    for (let n = 0; n < 5; n++) await add(1);
    expect(Date.parse((await add(2)).subscription_changed) - START).toBe(1);
  });
});

describe("retired guids in the change feed", () => {
  test("a subscription comes once for each guid retired after `since`, else once under its current guid", async () => {
    await fill(1);
    const stamps = [place((await user.changes())[0])];
    for (const n of [1, 2, 3]) stamps.push((await patch(n, { new_guid: guidOf(n + 1) })).guid_changed);
    const heard = async (since: string) =>
      (await user.changes(since)).map((item: Item) => [names([item])[0], item.new_guid === guidOf(4)]);
    expect(await heard("")).toEqual([
      [1, true],
      [2, true],
      [3, true],
    ]);
    expect(await heard(stamps[1] ?? "")).toEqual([
      [2, true],
      [3, true],
    ]);
    expect(await heard(stamps[2] ?? "")).toEqual([[3, true]]);
    expect(await heard(stamps[3] ?? "")).toEqual([]);
    await patch(4, { is_subscribed: false });
    expect(await heard(stamps[3] ?? "")).toEqual([[4, false]]);
  });

  test("all have the subscription's timestamps and come one after the other", async () => {
    await fill(3);
    await patch(2, { new_guid: guidOf(8) });
    await patch(8, { new_guid: guidOf(9) });
    await patch(2, { is_subscribed: false });
    const items = await user.changes();
    expect(names(items)).toEqual([1, 3, 2, 8]);
    expect({ ...items[2], guid: "" }).toEqual({ ...items[3], guid: "" });
  });

  test("give an app the deletion under the guid that it knows", async () => {
    await fill(1);
    const since = place((await user.changes())[0]);
    await patch(1, { new_guid: guidOf(2) });
    await user.remove(guidOf(2));
    await server.drain();
    expect(await user.changes(since)).toMatchObject([
      { guid: guidOf(1), new_guid: guidOf(2), is_subscribed: false, deleted: expect.any(String) },
    ]);
  });
});

// Subscriptions 3, 5 and 8 have 1, 7 and 2 retired guids, the last was merged, and one was deleted.
async function fillWithOldGuids() {
  await fill(10);
  await patch(3, { new_guid: guidOf(20) });
  for (let n = 0; n < 7; n++) await patch(n === 0 ? 5 : 29 + n, { new_guid: guidOf(30 + n) });
  await patch(8, { new_guid: guidOf(40) });
  await patch(9, { new_guid: guidOf(40) });
  await user.remove(guidOf(2));
  await server.drain();
}

describe("pages", () => {
  for (const per_page of [1, 2, 3, 4, 5, 7, 16, 17, 100]) {
    test(`of ${per_page} have every item once, by \`next\` and by number, and the same total`, async () => {
      await fillWithOldGuids();
      const whole = await page("per_page=100");
      expect(whole.total).toBe(whole.subscriptions.length);
      expect(await user.changes("", per_page)).toEqual(whole.subscriptions);
      const pages = Math.ceil(whole.total / per_page);
      const items = [];
      for (let number = 1; number <= pages; number++) {
        const one = await page(`page=${number}&per_page=${per_page}`);
        expect(one).toMatchObject({ total: whole.total, page: number, per_page });
        expect(one.subscriptions).toHaveLength(Math.min(per_page, whole.total - (number - 1) * per_page));
        expect([one.next === undefined, one.previous === undefined]).toEqual([number === pages, number === 1]);
        items.push(...one.subscriptions);
      }
      expect(items).toEqual(whole.subscriptions);
    });
  }

  test("have the same items if the last one is asked for first", async () => {
    await fillWithOldGuids();
    for (const per_page of [1, 2, 3]) {
      const whole = await page("per_page=100");
      const items = [];
      for (let number = Math.ceil(whole.total / per_page); number > 0; number--) {
        items.unshift(...(await page(`page=${number}&per_page=${per_page}`)).subscriptions);
      }
      expect(items).toEqual(whole.subscriptions);
    }
  });

  test("count the user's own guids alone", async () => {
    const other = await server.user();
    await other.add("https://1.example/", guidOf(1));
    await other.request("PATCH", `/subscriptions/${guidOf(1)}`, { new_guid: guidOf(8) });
    await other.request("PATCH", `/subscriptions/${guidOf(8)}`, { new_guid: guidOf(9) });
    for (const n of [2, 3, 4]) await add(n);
    expect(await read("/subscriptions?per_page=2")).toMatchObject({ total: 3 });
  });

  test("with any `since` have every item once, by `next` and by number, and the same total", async () => {
    await fillWithOldGuids();
    for (const since of new Set((await user.changes()).map(place))) {
      const whole = await page(`since=${since}&per_page=100`);
      expect(whole.total).toBe(whole.subscriptions.length);
      for (const per_page of [1, 3]) {
        expect(await user.changes(since, per_page)).toEqual(whole.subscriptions);
        const items = [];
        for (let number = 1; number <= whole.total + 1; number++) {
          const one = await page(`since=${since}&page=${number}&per_page=${per_page}`);
          expect(one.total).toBe(whole.total);
          items.push(...one.subscriptions);
        }
        expect(items).toEqual(whole.subscriptions);
      }
    }
  });

  test("past the end are empty, without `next`, and `previous` is the last one", async () => {
    await fill(5);
    for (const number of ["4", "100", "999999999999999", "99999999999999999999"]) {
      const past = await page(`page=${number}&per_page=2`);
      expect(past).toMatchObject({ total: 5, subscriptions: [] });
      expect(past.next).toBeUndefined();
      expect(new URL(past.previous).searchParams.get("page")).toBe("3");
    }
    const empty = await page("page=7&since=9999-01-01T00:00:00Z");
    expect(new URL(empty.previous).searchParams.get("page")).toBe("1");
  });

  test("`previous` goes back to the first one, page by page", async () => {
    await fill(7);
    const walk: Item[][] = [];
    let last = "";
    for await (const { subscriptions, next } of walkPages("/subscriptions?per_page=2", read)) {
      walk.push(subscriptions);
      last = next ?? last;
    }
    const back: Item[][] = [];
    for await (const { subscriptions } of walkPages(last, read, ({ previous }) => previous))
      back.unshift(subscriptions);
    expect(back).toEqual(walk);
  });
});

describe("while others write", () => {
  async function* walk(per_page: number, since = "") {
    const pages = walkPages(`/subscriptions?since=${since}&per_page=${per_page}`, read);
    for await (const { subscriptions } of pages) yield subscriptions as Item[];
  }

  test("what changes during a walk can come twice but is never missed", async () => {
    await fill(12);
    const seen: number[] = [];
    const steps = [
      () => patch(1, { is_subscribed: false }),
      () => patch(4, { new_guid: guidOf(50) }),
      () => patch(12, { new_feed_url: "https://moved.example/" }),
      () => user.remove(guidOf(10)).then(server.drain),
      () => add(13),
      () => patch(7, { new_guid: guidOf(8) }),
    ];
    for await (const items of walk(2)) {
      seen.push(...names(items));
      await steps.shift()?.();
    }
    for (let n = 1; n <= 13; n++) expect(seen).toContain(n);
    expect(seen.filter((n) => n === 1)).toHaveLength(2);
  });

  test("a page that ended between a subscription's retired guids continues after it, even if the subscription moved", async () => {
    await fill(3);
    await patch(2, { new_guid: guidOf(20) });
    await patch(20, { new_guid: guidOf(21) });
    await patch(1, { is_subscribed: false });
    await patch(3, { is_subscribed: false });
    const pages: number[][] = [];
    for await (const items of walk(1)) {
      if (pages.length === 0) await patch(2, { is_subscribed: false });
      pages.push(names(items));
    }
    expect(pages.flat()).toEqual([2, 1, 3, 2, 20]);
  });

  test("a page that ended on a retired guid continues, even if that guid is current again", async () => {
    await fill(2);
    await patch(1, { new_guid: guidOf(10) });
    await patch(10, { new_guid: guidOf(11) });
    await patch(2, { is_subscribed: false });
    const seen: Item[] = [];
    for await (const items of walk(1)) {
      if (seen.length === 0) await patch(11, { new_guid: guidOf(1) });
      seen.push(...items);
    }
    expect(seen.slice(1)).toMatchObject([
      { guid: guidOf(2) },
      { guid: guidOf(10), new_guid: guidOf(1) },
      { guid: guidOf(11), new_guid: guidOf(1) },
    ]);
  });

  test("a new `since` kept after the last page misses nothing that was written during the walk", async () => {
    await fill(6);
    let since = "";
    for await (const items of walk(2)) {
      for (const item of items) if (place(item) > since) since = place(item);
      if (names(items).includes(3)) await patch(1, { is_subscribed: false });
      if (names(items).includes(5)) await patch(4, { is_subscribed: false });
    }
    await patch(2, { is_subscribed: false });
    expect(names(await user.changes(since))).toEqual([2]);
  });
});

test("a cursor works after a restart, with another per_page, and without a page number", async () => {
  await fill(6);
  const { next } = await page("per_page=2");
  const cursor = new URL(next).searchParams.get("cursor");
  await server.reopen();
  const rest = await page(`cursor=${cursor}&per_page=10`);
  expect(names(rest.subscriptions)).toEqual([3, 4, 5, 6]);
  expect(rest).toMatchObject({ total: 6, page: 1 });
});

test("a cursor before `since` starts at `since`", async () => {
  await fill(6);
  const cursor = new URL((await page("per_page=1")).next).searchParams.get("cursor");
  const since = place((await user.changes())[3]);
  expect(names((await page(`since=${since}&cursor=${cursor}`)).subscriptions)).toEqual([5, 6]);
});

test("`total` is right if one request replaces a guid and then merges its subscription into an older change", async () => {
  await user.add("https://a.example/", guidOf(1));
  const { body } = await user.request("POST", "/subscriptions", {
    subscriptions: [
      { feed_url: "https://b.example/", guid: guidOf(2) },
      { feed_url: "https://a.example/", guid: guidOf(3) },
      { feed_url: "https://a.example/", guid: guidOf(4) },
      { feed_url: "https://a.example/", guid: guidOf(2) },
    ],
  });
  const since = body.success[0].subscription_changed;
  expect((await page(`since=${since}&page=2&per_page=1`)).total).toBe(0);
  expect((await page("page=2&per_page=1")).total).toBe(3);
});
