// What users get back from an export after an import: feeds and titles.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { actAsUser } from "../../../src/services/actor.ts";
import { listChanges } from "../../../src/services/subscriptions/change-feed.ts";
import { exportFeeds, importFeeds } from "../../../src/services/subscriptions/imports.ts";
import { guidOf, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";

const A = "https://a.example/feed";
const B = "https://b.example/feed";

let server: TestApp;
let user: TestUser;
beforeEach(async () => {
  server = await openTestApp();
  user = await server.user("ann");
});
afterEach(() => server.close());

const importAll = (...feeds: [feed_url: string, title: string | null][]) =>
  importFeeds(
    server.app,
    actAsUser(user.id),
    feeds.map(([feed_url, title]) => ({ feed_url, title })),
    { dry_run: false },
  );
const exportAll = () => exportFeeds(server.app, actAsUser(user.id));
const clock = async () =>
  (await listChanges(server.app, actAsUser(user.id), { since: null, page: 1, per_page: 1, after: null })).clock;

test("titles of an import are in the export", async () => {
  await importAll([A, "  First\u202e & best "], [B, null]);
  expect(await exportAll()).toEqual([
    { feed_url: A, title: "First & best" },
    { feed_url: B, title: null },
  ]);
});

test("links that open podcast apps, as older lists have them, are taken as their feed URLs", async () => {
  const { added, present, failed } = await importAll(
    ["feed://a.example/feed", "A"],
    ["feed:https://b.example/feed", "B"],
    [` ${A} `, "again"],
    ["ftp://c.example/feed", "C"],
  );
  expect([added.length, present.length, failed.length]).toEqual([2, 1, 1]);
  expect((await exportAll()).map(({ feed_url }) => feed_url)).toEqual([A, B]);
});

test("podcasts that another server has with the nil UUID stay apart", async () => {
  const guid = guidOf(1).replace(/\w/g, "0");
  const feeds = [A, B].map((feed_url) => ({ feed_url, title: null, guid }));
  await importFeeds(server.app, actAsUser(user.id), feeds, { dry_run: false });
  expect((await exportAll()).map(({ feed_url }) => feed_url)).toEqual([A, B]);
});

test("a dry run counts as the import does: what turns out to be one podcast, by guid or far apart in the list, once", async () => {
  const rows = (urls: string[], guid: string | null = null) =>
    urls.map((feed_url) => ({ feed_url, title: null, guid }));
  await user.add(A, guidOf(1));
  const gone = await user.add(`${B}/gone`, guidOf(2));
  await user.request("PATCH", `/subscriptions/${gone.guid}`, { is_subscribed: false });
  const many = Array.from({ length: 600 }, (_, n) => `https://many.example/${n}`);
  const feeds = [
    ...rows([`${A}/moved`], guidOf(1)),
    ...rows([`${B}/back`], guidOf(2)),
    ...rows([`${B}/1`, `${B}/2`], guidOf(3)),
    ...rows(many),
    ...rows([`${B}/gone`, `${B}/2`, A, "nonsense"]),
  ];
  const run = async (dry_run: boolean) => {
    const result = await importFeeds(server.app, actAsUser(user.id), feeds, { dry_run });
    return [result.added.length, result.present.length, result.failed.length];
  };
  const before = (await exportAll()).length;
  const dry = await run(true);
  expect((await exportAll()).length).toBe(before);
  expect(await run(false)).toEqual(dry);
  expect(dry).toEqual([(await exportAll()).length - before, 5, 1]);
  expect(await run(true)).toEqual([0, feeds.length - 1, 1]);
});

test("a subscription without a title gets it from an import, and apps see no change", async () => {
  await user.add(A);
  const before = await clock();
  const seen = await user.changes();
  server.clock.advance(1000);
  await importAll([A, "First"]);
  expect(await exportAll()).toEqual([{ feed_url: A, title: "First" }]);
  expect(await clock()).toBe(before);
  expect(await user.changes()).toEqual(seen);
});

test("a title stays through another import, unsubscribing, deletion and a new guid", async () => {
  await importAll([A, "First"]);
  await importAll([A, "Other"]);
  const { guid } = await user.add(A, guidOf(1));
  await user.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
  await user.remove(guid);
  await server.drain();
  await user.add(A);
  expect(await exportAll()).toEqual([{ feed_url: A, title: "First" }]);
});

test("merging keeps a title that only the merged subscription has", async () => {
  await importAll([A, "First"]);
  await user.add(B, guidOf(1));
  await user.request("PATCH", `/subscriptions/${guidOf(1)}`, { new_feed_url: A });
  expect(await exportAll()).toEqual([{ feed_url: A, title: "First" }]);
});
