// An app empties a list or merges podcasts; what apps of each protocol get when that is undone.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { decodeOpml, readOpml } from "../../src/domain/opml.ts";
import { issueToken } from "../../src/services/accounts/tokens.ts";
import { actAsUser } from "../../src/services/actor.ts";
import { putBack, restoreSubscriptions } from "../../src/services/subscriptions/earlier-lists.ts";
import { importFeeds } from "../../src/services/subscriptions/imports.ts";
import { listMassRemovals } from "../../src/services/subscriptions/noticed-removals.ts";
import { guidOf, openTestApp, START, type TestApp, type TestUser } from "../support/app.ts";
import { basicAuth } from "../support/basic-auth.ts";

let server: TestApp;
let ann: TestUser;
beforeEach(async () => {
  server = await openTestApp();
  ann = await server.user("ann");
});
afterEach(() => server.close());

const me = () => actAsUser(ann.id);

/** A gPodder client with its own token and device. `sync` returns what it receives, and keeps the timestamp. */
async function gpodder(device: string) {
  const { token } = await issueToken(server.app, me(), { label: device, scope: "write", expires_at: null });
  const path = `/api/2/subscriptions/ann/${device}.json`;
  const headers = { ...basicAuth("ann", token), "User-Agent": "AntennaPod/3.5.0" };
  let since = 0;
  return {
    async sync(): Promise<{ add: string[]; remove: string[] }> {
      const { timestamp, ...told } = (await server.send("GET", `${path}?since=${since}`, { headers })).body;
      since = timestamp;
      server.clock.advance(5000);
      return told;
    },
    async post(add: string[], remove: string[]): Promise<void> {
      const { status } = await server.send("POST", path, { headers, body: JSON.stringify({ add, remove }) });
      expect(status).toBe(200);
      server.clock.advance(5000);
    },
  };
}

/** AntennaPod follows a redirect to https without a report, so it gets removals in both schemes. */
const inBothSchemes = (urls: string[]) =>
  [...new Set(urls.flatMap((url) => [url.replace(/^https?/, "http"), url.replace(/^https?/, "https")]))].sort();

/** The feed URLs that an app on the Open Podcast API has after it applied what changed. */
async function subscribed(): Promise<string[]> {
  const items = (await ann.changes("", 500)).filter((item) => item.is_subscribed);
  return [...new Set(items.map((item) => item.feed_url))].sort();
}

test("after one gPodder client removed all 72 podcasts, one put back brings them to all apps", async () => {
  const file = await Bun.file(new URL("../domain/opml/subscriptions.opml", import.meta.url)).bytes();
  const feeds = readOpml(decodeOpml(file));
  await importFeeds(server.app, me(), feeds, { dry_run: false });
  const urls = feeds.map(({ feed_url }) => feed_url).sort();
  const [phone, tablet] = [await gpodder("phone"), await gpodder("tablet")];
  expect((await phone.sync()).add).toHaveLength(72);
  expect((await tablet.sync()).add).toHaveLength(72);

  await phone.post([], urls);
  expect((await tablet.sync()).remove.toSorted()).toEqual(inBothSchemes(urls));
  expect(await subscribed()).toEqual([]);

  const [removal] = await listMassRemovals(server.app, me(), START);
  expect(removal).toMatchObject({ by: { kind: "token", label: "phone", device: "phone" }, removed: 72, of: 72 });
  expect(await putBack(server.app, me(), removal!)).toHaveLength(72);

  expect((await tablet.sync()).add.toSorted()).toEqual(urls);
  expect((await phone.sync()).add.toSorted()).toEqual(urls);
  expect(await subscribed()).toEqual(urls);
  expect(await listMassRemovals(server.app, me(), START)).toEqual([]);
});

test("a podcast that was merged away and split off again comes back to gPodder clients, and the other one stays", async () => {
  const [A, B] = ["https://a.example/feed", "https://b.example/feed"];
  await ann.add(A, guidOf(1));
  await ann.add(B, guidOf(2));
  const phone = await gpodder("phone");
  await phone.sync();
  const before = server.clock.now();
  server.clock.advance(5000);
  await ann.request("PATCH", `/subscriptions/${guidOf(1)}`, { new_feed_url: B });
  expect((await phone.sync()).remove.toSorted()).toEqual(inBothSchemes([A]));

  await restoreSubscriptions(server.app, me(), { as_of: before }, false);
  expect(await phone.sync()).toEqual({ add: expect.arrayContaining([A, B]), remove: [] });
  expect(await subscribed()).toEqual([A, B]);
  const tablet = await gpodder("tablet");
  expect((await tablet.sync()).add.toSorted()).toEqual([A, B]);
});

test("a list restored as of a time reaches the apps of each protocol at their next sync", async () => {
  const [A, B, C] = ["https://a.example/feed", "https://b.example/feed", "https://c.example/feed"];
  const headers = basicAuth("ann", ann.token);
  const get = async (path: string, agent: string) =>
    (await server.send("GET", path, { headers: { ...headers, "User-Agent": agent } })).body;
  let since = 0;
  const nextcloud = async () => {
    const told = await get(`/index.php/apps/gpoddersync/subscriptions?since=${since}`, "Kasts/24.08");
    since = told.timestamp + 1;
    server.clock.advance(5000);
    return { add: told.add.toSorted(), remove: told.remove.toSorted() };
  };
  const [phone, tablet] = [await gpodder("phone"), await gpodder("tablet")];
  await ann.add(A, guidOf(1));
  await ann.add(B, guidOf(2));
  server.clock.advance(5000);
  const before = server.clock.now();
  server.clock.advance(5000);
  await phone.sync();
  await phone.post([C], [A]);
  await ann.remove(guidOf(2));
  await server.drain();
  server.clock.advance(5000);
  for (const sync of [phone.sync, tablet.sync, nextcloud]) await sync();
  const polled = (await ann.changes()).at(-1);
  const last = polled.deleted ?? polled.subscription_changed;

  await restoreSubscriptions(server.app, me(), { as_of: before }, true);

  const [antennapods, kasts] = [inBothSchemes([C]), [C]];
  for (const [sync, gone] of [
    [phone.sync, antennapods],
    [tablet.sync, antennapods],
    [nextcloud, kasts],
  ] as const) {
    const { add, remove } = await sync();
    expect([add.toSorted(), remove.toSorted()]).toEqual([[A, B], gone]);
    expect(await sync()).toEqual({ add: [], remove: [] });
  }
  const changed = await ann.changes(last);
  expect(changed.map((item) => [item.feed_url, item.is_subscribed]).sort()).toEqual([
    [A, true],
    [B, true],
    [C, false],
  ]);
  expect((await get("/subscriptions/ann/phone.json", "AntennaPod/3.5.0")).toSorted()).toEqual([A, B]);
  expect((await get("/subscriptions/ann/phone.json", "AntennaPod/3.5.0")).toSorted()).toEqual([A, B]);
});
