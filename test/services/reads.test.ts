// Reads see one state, even if others write at the same time.
import { afterEach, expect, test } from "bun:test";
import { listSubscribed } from "../../src/store/subscriptions.ts";
import { readClock } from "../../src/store/users.ts";
import { openTestApp, type TestApp } from "../support/app.ts";
import { addFeeds } from "../support/feeds.ts";

let server: TestApp;
afterEach(() => server.close());

const reads = [
  ["without a check", undefined],
  ["with a check that finds the write", async () => false],
] as const;

for (const [name, isCurrent] of reads) {
  test(`two statements of one read see one state, ${name}`, async () => {
    server = await openTestApp();
    const { id: user_id } = await server.user();
    let written = false;
    const [first, second] = await server.app.database.read(async (tx) => {
      const before = [await readClock(tx, { user_id }), await listSubscribed(tx, { user_id })];
      if (!written) await addFeeds(server.app, user_id, ["https://a.example/"]);
      written = true;
      return [before, [await readClock(tx, { user_id }), await listSubscribed(tx, { user_id })]];
    }, isCurrent);
    expect(second).toEqual(first ?? []);
  });
}

test("a write between two statements of a page is either in the whole page or not in it", async () => {
  server = await openTestApp();
  const user = await server.user();
  await addFeeds(server.app, user.id, ["https://a.example/", "https://b.example/"]);
  for (let n = 0; n < 50; n++) {
    const [page] = await Promise.all([
      user.request("GET", "/subscriptions?page=2&per_page=1"),
      user.add(`https://c.example/${n}`),
    ]);
    expect([n + 2, n + 3]).toContain(page.body.total);
    expect(page.body.subscriptions).toMatchObject([{ feed_url: "https://b.example/" }]);
  }
});

test("an ETag never hides a change: what was written while a page was read comes with the next request", async () => {
  server = await openTestApp();
  const user = await server.user();
  for (let n = 1; n <= 50; n++) {
    const [page] = await Promise.all([user.request("GET", "/subscriptions"), user.add(`https://a.example/${n}`)]);
    const next = await user.request("GET", "/subscriptions", undefined, {
      "If-None-Match": page.headers.get("etag") ?? "",
    });
    expect(next.status === 304 ? page.body.total : next.body.total).toBe(n);
  }
});

test("what was acknowledged before a read began is in it", async () => {
  server = await openTestApp();
  const user = await server.user();
  for (let n = 1; n <= 20; n++) {
    await user.add(`https://a.example/${n}`);
    expect((await user.request("GET", "/subscriptions")).body.total).toBe(n);
  }
});
