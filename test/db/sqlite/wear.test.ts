// What is written to the disk, which may be an SD card.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { appNamed } from "../../../src/http/apps.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import { identifyClient } from "../../../src/services/devices/clients.ts";
import { listDeviceFeeds, readFeedChanges } from "../../../src/services/devices/device-list.ts";
import { readActions } from "../../../src/services/listening/episode-actions.ts";
import { uploadActions } from "../../../src/services/listening/episode-uploads.ts";
import { play } from "../../domain/episode-sync.ts";
import { guidOf, openTestApp, START, type TestApp } from "../../support/app.ts";
import { databaseFile } from "../../support/database.ts";

let server: TestApp;
beforeEach(async () => {
  server = await openTestApp();
});
afterEach(() => server.close());

const logSize = () => statSync(`${databaseFile(server.app.config)}-wal`).size;

async function pagesOf(work: () => Promise<unknown>): Promise<number> {
  const before = logSize();
  await work();
  return Math.round((logSize() - before) / 1048);
}

test("a large upload writes its pages once, to the log, and nothing to temporary files", async () => {
  const ann = await server.user("ann");
  const add = (from: number) => {
    const subscriptions = Array.from({ length: 1000 }, (_, n) => ({ feed_url: `https://${from + n}.example/` }));
    return ann.request("POST", "/subscriptions", { subscriptions });
  };
  await add(0);
  // The whole process, as Linux counts it.
  const written = () => Number(/^wchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
  const before = [logSize(), written()] as const;
  expect((await add(1000)).status).toBe(200);
  expect(written() - before[1]).toBeLessThan(1.5 * (logSize() - before[0]));
});

test("uploads that change nothing write nothing", async () => {
  const ann = await server.user("ann");
  const feed = "https://a.example/";
  const nextcloud = "/index.php/apps/gpoddersync/subscription_change/create";
  const send = async () => {
    await ann.add(feed, guidOf(1));
    await ann.request("PATCH", `/subscriptions/${guidOf(1)}`, { is_subscribed: true });
    return ann.request("POST", nextcloud, { add: [feed], remove: [] });
  };
  await send();
  // The time at which the token was used is noted after a response.
  await server.app.database.write(async () => {});
  const before = readFileSync(`${databaseFile(server.app.config)}-wal`);
  expect((await send()).status).toBe(200);
  const after = readFileSync(`${databaseFile(server.app.config)}-wal`);
  expect(after.equals(before)).toBe(true);
});

test("of the reads of one sync, only the first notes when the device synced", async () => {
  const ann = await server.user("ann");
  const deviceOf = (device: string) => {
    const actor = actAsUser(ann.id, null, device);
    return { actor, client: identifyClient(actor, appNamed("AntennaPod", "gpodder")) };
  };
  const [phone, tablet] = [deviceOf("phone"), deviceOf("tablet")];
  const readPodcasts = (since: number) => readFeedChanges(server.app, phone.actor, phone.client, { since });
  const readPlays = (since: number) =>
    readActions(server.app, phone.actor, phone.client, { since, feed_url: null, aggregated: false, peek: false });
  const [podcasts, plays] = [await readPodcasts(0), await readPlays(0)];
  server.clock.advance(3_600_000);
  const played = play(10, { sent_at: server.clock.now(), device: "tablet" });
  await uploadActions(server.app, tablet.actor, tablet.client, [played]);
  // How far it read, the client, the device, and the user's clock.
  expect(await pagesOf(() => readPodcasts(podcasts.timestamp))).toBe(4);
  server.clock.advance(5000);
  expect(await pagesOf(() => readPlays(plays.timestamp))).toBe(2);
});

test("what an app uploads of one play with pauses writes the play, and not where its episode is found", async () => {
  const actor = actAsUser((await server.user("ann")).id, null, "phone");
  const client = identifyClient(actor, appNamed("AntennaPod", "gpodder"));
  const upload = (...positions: number[]) => {
    server.clock.advance(1000);
    const reports = positions.map((to) =>
      play(to, { started: to - 10, sent_at: server.clock.now() - 90_000 + to * 1000 }),
    );
    return uploadActions(server.app, actor, client, reports);
  };
  await upload(10);
  // The play, its action twice, by episode and by arrival, and the user's clock.
  expect(await pagesOf(() => upload(20, 30))).toBe(4);
});

test("devices that read whole lists in turn write once what they have read", async () => {
  const ann = await server.user("ann");
  await ann.add("https://a.example/");
  const devices = ["laptop", "desktop"].map((device) => {
    const actor = actAsUser(ann.id, null, device);
    return { actor, client: identifyClient(actor, appNamed("Script", "gpodder")) };
  });
  for (const { actor, client } of devices) await readFeedChanges(server.app, actor, client, { since: 0 });
  const readLists = async () => {
    for (const { actor, client } of devices) await listDeviceFeeds(server.app, actor, client);
  };
  await readLists();
  const log = () => readFileSync(`${databaseFile(server.app.config)}-wal`);
  const before = log();
  await readLists();
  expect(log().equals(before)).toBe(true);
});

test.each([
  ["Kasts", "the time of the last response", () => START / 1000 + 1],
  ["PinePods", "its own time", () => server.clock.now() / 1000],
  ["Script", "no time", () => 0],
])("syncs of %s, which asks since %s, write nothing if there is no news", async (product, _, since) => {
  const ann = await server.user("ann");
  await ann.add("https://a.example/");
  const actor = actAsUser(ann.id, null, "laptop");
  const client = identifyClient(actor, appNamed(product, "gpodder"));
  const sync = async () => {
    server.clock.advance(5000);
    await readFeedChanges(server.app, actor, client, { since: since() });
    await readActions(server.app, actor, client, { since: since(), feed_url: null, aggregated: false, peek: false });
  };
  await readFeedChanges(server.app, actor, client, { since: 0 });
  await sync();
  await sync();
  const log = () => readFileSync(`${databaseFile(server.app.config)}-wal`);
  const before = log();
  await sync();
  await sync();
  expect(log().equals(before)).toBe(true);
});
