// Walks by page number while other apps write: none misses a change.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHttp, type Http } from "../../../src/http/server.ts";
import { deleteUser } from "../../../src/services/accounts/user-deletion.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import { findPageEnd, savePageEnd } from "../../../src/services/subscriptions/page-ends.ts";
import { guidOf, ORIGIN, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";

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

test("nor one that has it from a proxy which compresses, and writes that into the ETag", async () => {
  const { headers } = await numbered(1);
  server.clock.advance(3_600_000);
  const etag = headers.get("etag")?.replace(/"$/, '-gzip"');
  expect(await numbered(1, undefined, etag)).toMatchObject({ status: 304 });
  await patch(2, { is_subscribed: false });
  expect(await namesOf(2)).toEqual([4, 5, 6]);
});

test("nor one that has the last page in its cache, and goes on after it", async () => {
  for (const [per_page, last] of [
    [5, 2],
    [100, 1],
  ] as const) {
    const query = `since=${since}&per_page=${per_page}`;
    const etags: string[] = [];
    for (let n = 1; n <= last; n++) etags.push((await numbered(n, query)).headers.get("etag") ?? "");
    server.clock.advance(3_600_000);
    for (const [n, etag] of etags.entries()) {
      expect(await numbered(n + 1, query, etag)).toMatchObject({ status: 304 });
    }
    await patch(2, { is_subscribed: last === 1 });
    for (let n = 1; n <= 50; n++) await add(per_page * 100 + n);
    expect((await namesOf(last + 1, query))[0]).toBe(2);
  }
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
  server.clock.advance(660_000);
  expect(await namesOf(2)).toEqual([6, 7, 8]);
});

test("an app that begins to count pages takes nothing from others that are between two pages", async () => {
  const [second, third] = [await user.another(), await user.another()];
  const ask = async (app: TestUser, page: number) =>
    names((await app.request("GET", `/subscriptions?since=${since}&per_page=3&page=${page}`)).body.subscriptions);
  for (const app of [user, third]) expect(await ask(app, 1)).toEqual([1, 2, 3]);
  await patch(1, { is_subscribed: false });
  expect(await ask(second, 1)).toEqual([2, 3, 4]);
  for (const app of [user, third]) expect(await ask(app, 2)).toEqual([4, 5, 6]);
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

const ALL = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
const sorted = (seen: number[]) => seen.toSorted((a, b) => a - b);

test("an app that counts pages again after a change gets each item once", async () => {
  for (const changed of [1, 2, 3]) {
    const seen = [];
    for (const number of [1, 2, 3, 4]) seen.push(...(await namesOf(number)));
    expect(sorted(seen)).toEqual(ALL);
    await patch(changed, { is_subscribed: false });
  }
});

test("so does one that counts after it has followed next", async () => {
  await user.changes(since, 3);
  await patch(1, { is_subscribed: false });
  const seen = [];
  for (const number of [1, 2, 3, 4]) seen.push(...(await namesOf(number)));
  expect(sorted(seen)).toEqual(ALL);
});

test("a device that stopped between two pages misses nothing when another one with its token has counted to the end, and the end was sent twice", async () => {
  const phone = await namesOf(1);
  await patch(1, { is_subscribed: false });
  for (const number of [1, 2, 3, 4, 4]) await numbered(number);
  await patch(2, { is_subscribed: false });
  await numbered(1);
  for (const number of [2, 3, 4, 5]) phone.push(...(await namesOf(number)));
  expect(sorted([...new Set(phone)])).toEqual(ALL);
});

for (const found of ["its number", "its cursor"]) {
  test(`HEAD of the last page, by ${found}, and then of the first ends no count`, async () => {
    const { next } = (await user.request("GET", `/subscriptions?since=${since}&per_page=9`)).body;
    const query = `/subscriptions?since=${since}&per_page=3`;
    const cursor = found === "its cursor" ? `&cursor=${new URL(next).searchParams.get("cursor")}` : "";
    const seen = await namesOf(1);
    await patch(2, { is_subscribed: false });
    for (const page of [`4${cursor}`, "1"]) await user.request("HEAD", `${query}&page=${page}`);
    for (const number of [2, 3, 4]) seen.push(...(await namesOf(number)));
    expect(sorted([...new Set(seen)])).toEqual(ALL);
  });
}

test("an app whose pages come from several servers, and from one that restarts, misses nothing", async () => {
  const [first, second] = [createHttp(server.app), createHttp(server.app)];
  const ask = async (http: Http, page: number) => {
    const url = `${ORIGIN}/v1/subscriptions?since=${since}&per_page=3&page=${page}`;
    const request = new Request(url, { headers: { Authorization: `Bearer ${user.token}` } });
    return names(JSON.parse(await (await http.fetch(request, {})).text()).subscriptions);
  };
  const seen = await ask(first, 1);
  await patch(2, { is_subscribed: false });
  seen.push(...(await ask(second, 2)));
  await patch(4, { is_subscribed: false });
  seen.push(...(await ask(createHttp(server.app), 3)));
  seen.push(...(await ask(first, 4)));
  expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 2, 4]);
});

test("an app that follows next writes nothing between its first and its last page, and nothing at all if there is one page", async () => {
  const count = async () => (await server.sql("select * from page_ends")).length;
  await user.request("GET", "/subscriptions");
  expect(await count()).toBe(0);
  const { body } = await user.request("GET", "/subscriptions?per_page=3");
  const rows = [await count()];
  for (let next = body.next; next; rows.push(await count())) {
    const { pathname, search } = new URL(next);
    ({ next } = (await user.request("GET", pathname.replace("/v1", "") + search)).body);
  }
  expect(rows).toEqual([2, 2, 2, 1]);
});

describe("page ends", () => {
  const pageOf = (page: number) => ({ since: null, per_page: 1, page });
  const endAt = (changed_at: number) => ({ changed_at, guid: guidOf(1) });
  const save = (page: number, changed_at: number, isLast = false) =>
    savePageEnd(server.app, actAsUser(user.id), pageOf(page), { ...endAt(changed_at), isLast });
  const before = (page: number) => findPageEnd(server.app, actAsUser(user.id), pageOf(page));
  const minutes = (count: number) => server.clock.advance(count * 60_000);

  test("are each remembered for ten minutes or a little more, the first of them counts", async () => {
    await save(1, 5);
    minutes(4);
    await save(1, 9);
    minutes(4);
    await save(1, 7);
    const found: (number | undefined)[] = [];
    for (const pause of [0, 3, 7, 1]) {
      minutes(pause);
      found.push((await before(2))?.changed_at);
    }
    expect(found).toEqual([5, 7, 7, undefined]);
  });

  test("of a first page that is requested again and again are a few", async () => {
    for (let request = 0; request < 100; request++) await save(1, 1);
    expect((await server.sql("select page from page_ends")).length).toBe(17);
    const latest = async () => Number((await server.sql("select max(ended_at) as at from page_ends"))[0]?.["at"]);
    const written = [];
    for (let half = 0; half < 4; half++, server.clock.advance(30_000)) {
      await save(1, 1);
      written.push((await latest()) === server.clock.now());
    }
    expect(written).toEqual([true, false, true, false]);
    // More walks end than were remembered, and one is on its way.
    for (let walk = 0; walk < 20; walk++) await save(2, 2 + walk, true);
    await save(1, 9);
    expect((await before(2))?.changed_at).toBe(1);
  });

  test("of a first page that is requested again and again are remembered anew after the clock was set back", async () => {
    for (let request = 0; request < 20; request++) await save(1, 1);
    minutes(-60);
    expect(await before(2)).toBeNull();
    await save(1, 1);
    expect((await before(2))?.changed_at).toBe(1);
  });

  test("are a thousand of a user at most, and go with the user", async () => {
    const now = server.clock.now();
    const old = Array.from({ length: 1010 }, (_, n) => `('${user.id}', 'n${n}', 1, '${guidOf(n)}', ${now + n})`);
    await save(1, 1);
    await server.sql(`insert into page_ends (user_id, page, changed_at, guid, ended_at) values ${old}`);
    server.clock.advance(2000);
    await save(2, 2);
    const rows = async () => (await server.sql("select page from page_ends")).length;
    expect(await rows()).toBe(1000);
    expect([await before(2), await before(3)]).toEqual([null, endAt(2)]);
    minutes(11);
    await save(1, 1, true);
    expect(await rows()).toBe(1);
    await deleteUser(server.app, user.name);
    await save(1, 1);
    expect(await rows()).toBe(0);
  });
});
