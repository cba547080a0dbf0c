// Walks by page number while other apps write: none misses a change.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createPageEnds } from "../../../src/http/openpodcast/page-ends.ts";
import { guidOf, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { actorOf } from "../../support/feeds.ts";

let server: TestApp;
let user: TestUser;

beforeEach(async () => {
  server = await openTestApp();
  user = await server.user();
  for (let n = 1; n <= 10; n++) await add(n);
});
afterEach(() => server.close());

const add = (n: number) => user.add(`https://${n}.example/`, guidOf(n));
const patch = (n: number, body: object) => user.request("PATCH", `/subscriptions/${guidOf(n)}`, body);
const names = (items: { guid: string }[]) => items.map(({ guid }) => parseInt(guid.slice(0, 8), 16));
const since = "2025-01-01T00:00:00Z";
const numbered = (number: number, query = `since=${since}&per_page=3`, etag?: string) =>
  user.request("GET", `/subscriptions?${query}&page=${number}`, undefined, etag ? { "If-None-Match": etag } : {});
const namesOf = async (...request: Parameters<typeof numbered>) =>
  names((await numbered(...request)).body.subscriptions);

test("an app that counts pages misses nothing", async () => {
  const seen = await namesOf(1);
  await patch(2, { is_subscribed: false });
  for (const number of [2, 3, 4]) seen.push(...(await namesOf(number)));
  expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 2]);
});

test("nor does one that goes on after the last page", async () => {
  for (const [per_page, last] of [
    [4, 3],
    [50, 1],
  ] as const) {
    const query = `since=${since}&per_page=${per_page}`;
    const seen = [];
    for (let n = 1; n <= last; n++) seen.push(...(await namesOf(n, query)));
    for (let n = 1; n <= 20; n++) await add(per_page * 100 + n);
    for (let n = 1; n <= 6; n++) seen.push(...(await namesOf(last + n, query)));
    expect(seen).toEqual(expect.arrayContaining(names(await user.changes())));
  }
});

test("nor one that has the first page in its cache, from long ago", async () => {
  const { headers, body } = await numbered(1);
  server.clock.advance(3_600_000);
  const etag = headers.get("etag") ?? "";
  expect(await numbered(1, undefined, etag)).toMatchObject({ status: 304 });
  await patch(2, { is_subscribed: false });
  expect([names(body.subscriptions), await namesOf(2)]).toEqual([
    [1, 2, 3],
    [4, 5, 6],
  ]);
});

test("two contents of one page have two ETags", async () => {
  const query = `since=${since}&per_page=8`;
  await numbered(1, query);
  await patch(2, { is_subscribed: false });
  const own = await numbered(2, query);
  const others = await (await user.another()).request("GET", `/subscriptions?${query}&page=2`);
  expect([names(own.body.subscriptions), names(others.body.subscriptions)]).toEqual([
    [9, 10, 2],
    [10, 2],
  ]);
  const etag = own.headers.get("etag") ?? "";
  expect(others.headers.get("etag")).not.toBe(etag);
  expect(await numbered(2, query, etag)).toMatchObject({ status: 304 });
  expect(await namesOf(3, query)).toEqual([]);
});

test("each token, since and per_page has its own pages, for ten minutes, and page 1 is always the first", async () => {
  const other = await user.another();
  await numbered(1);
  await patch(1, { is_subscribed: false });
  const link = `/subscriptions?since=${since}&per_page=3&page=2`;
  expect(names((await other.request("GET", link)).body.subscriptions)).toEqual([5, 6, 7]);
  expect(await namesOf(2, "per_page=3")).toEqual([5, 6, 7]);
  expect(await namesOf(2, `since=${since}&per_page=2`)).toEqual([4, 5]);
  expect(await namesOf(2)).toEqual([4, 5, 6]);
  expect(await namesOf(1)).toEqual([2, 3, 4]);
  expect(await namesOf(2)).toEqual([4, 5, 6]);
  await patch(2, { is_subscribed: false });
  server.clock.advance(600_000);
  expect(await namesOf(2)).toEqual([6, 7, 8]);
});

test("two devices with one token that count pages at the same time miss nothing", async () => {
  const [phone, tablet] = [await namesOf(1), [] as number[]];
  await patch(1, { is_subscribed: false });
  tablet.push(...(await namesOf(1)));
  for (const number of [2, 3, 4, 5]) {
    phone.push(...(await namesOf(number)));
    await patch(number, { is_subscribed: false });
    tablet.push(...(await namesOf(number)));
  }
  for (const seen of [phone, tablet]) expect(new Set(seen).size).toBe(10);
});

describe("page ends", () => {
  const pageOf = (page: number) => ({ actor: actorOf(user.id), since: null, per_page: 1, page });
  const endAt = (changed_at: number) => ({ changed_at, guid: guidOf(1) });
  const open = () => createPageEnds({ ...server.clock, sleep: async () => {} });
  const minutes = (count: number) => server.clock.advance(count * 60_000);

  test("are each remembered for ten minutes, the first of them counts", () => {
    const ends = open();
    ends.set(pageOf(1), endAt(5));
    minutes(4);
    ends.set(pageOf(1), endAt(9));
    minutes(4);
    ends.set(pageOf(1), endAt(7));
    const found: (number | undefined)[] = [];
    for (const pause of [0, 2, 7, 1]) {
      minutes(pause);
      found.push(ends.before(pageOf(2))?.changed_at);
    }
    expect(found).toEqual([5, 7, 7, undefined]);
  });

  test("take a bounded amount of memory, and still no end is forgotten that an earlier one does not replace", () => {
    const ends = open();
    for (let n = 1; n <= 10_001; n++) ends.set(pageOf(n), endAt(n));
    expect([ends.before(pageOf(2)), ends.before(pageOf(3))]).toEqual([null, expect.objectContaining(endAt(2))]);
    for (let n = 1; n <= 100; n++) ends.set(pageOf(20_000), endAt(n));
    minutes(9);
    ends.set(pageOf(20_000), endAt(200));
    minutes(2);
    expect(ends.before(pageOf(20_001))?.changed_at).toBeLessThanOrEqual(200);
    minutes(9);
    expect(ends.before(pageOf(20_001))).toBeNull();
  });
});
