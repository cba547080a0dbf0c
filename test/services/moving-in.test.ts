// Moving in: what is stored of another server's data.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Moving, nothingFrom } from "../../src/domain/moving-in.ts";
import { appNamed } from "../../src/http/apps.ts";
import { readExport } from "../../src/moving/podkeep-file.ts";
import { exportAccount } from "../../src/services/accounts/export.ts";
import { type Actor, actAsAdmin } from "../../src/services/actor.ts";
import { identifyClient } from "../../src/services/devices/clients.ts";
import { listDevices, saveDevice } from "../../src/services/devices/devices.ts";
import { readActions } from "../../src/services/listening/episode-actions.ts";
import { uploadActions } from "../../src/services/listening/episode-uploads.ts";
import { listBegun } from "../../src/services/listening/listening.ts";
import { listPlays } from "../../src/services/listening/play-list.ts";
import { setPosition } from "../../src/services/listening/positions.ts";
import { moveIn } from "../../src/services/moving-in.ts";
import { play } from "../domain/episode-sync.ts";
import { guidOf, openTestApp, START, type TestApp } from "../support/app.ts";
import { sameHash } from "../support/attacks.ts";
import { basicAuth } from "../support/basic-auth.ts";

let podkeep: TestApp;
beforeAll(async () => {
  podkeep = await openTestApp({ plays_keep: "400d" });
});
afterAll(() => podkeep.close());

const FEED = "https://a.example/rss";
const at = (position: number, sent_at: number): Moving["actions"][number] =>
  play(position, { feed_url: FEED, guid: "g", sent_at, started: position });

async function open() {
  const user = await podkeep.user();
  const actor = await actAsAdmin(podkeep.app, user.name, "import");
  const move = (more: Partial<Moving>) =>
    moveIn(podkeep.app, actor, { ...nothingFrom("old.example"), ...more }, { dry_run: false });
  const place = async () => (await listBegun(podkeep.app, actor, 10))[0]?.position;
  return { user, actor, move, place };
}

test("what is here and later stays; what is later there counts", async () => {
  const { move, place } = await open();
  await move({ actions: [at(100, START - 5000)] });
  expect((await move({ actions: [at(50, START - 9000)] })).stored).toBe(0);
  expect(await place()).toBe(100);
  expect((await move({ actions: [at(200, START - 1000)] })).stored).toBe(1);
  expect(await place()).toBe(200);
});

test("a place without a time, and one of the future, are older than everything here", async () => {
  const { move, place } = await open();
  const future = at(700, START + 365 * 86_400_000);
  await move({ actions: [future] });
  expect(await place()).toBe(700);
  await move({ untimed: [at(10, 0)] });
  expect(await place()).toBe(700);
  await move({ actions: [at(100, START - 5000)] });
  expect((await move({ untimed: [at(10, 0)], actions: [future] })).stored).toBe(0);
  expect(await place()).toBe(100);
});

test("a server whose clock is years behind says what gets no time, and gives it when its clock is right", async () => {
  const { actor, move } = await open();
  const actions = [at(60, START - 9000), at(120, START - 5000)];
  const plays = async () => (await listPlays(podkeep.app, actor, { limit: 10 })).plays;
  podkeep.clock.set(Date.parse("2020-01-01"));
  expect(await move({ actions })).toMatchObject({ actions: 2, ahead: 2 });
  expect(await plays()).toEqual([]);
  podkeep.clock.set(START);
  expect(await move({ actions })).toMatchObject({ actions: 2, ahead: 0 });
  expect((await plays()).map(({ position }) => position)).toEqual([120, 60]);
});

test("a position and its play, which an export of podkeep has both, get no time once", async () => {
  const { move } = await open();
  const ahead = at(60, START + 365 * 86_400_000);
  const plays = [{ ...ahead, begun_at: ahead.sent_at }];
  expect(await move({ actions: [ahead], plays })).toMatchObject({ actions: 1, ahead: 1 });
});

test("an hour of reports, in whichever order another server has them, comes in as one stretch", async () => {
  const { actor, move } = await open();
  const actions = Array.from({ length: 360 }, (_, n) =>
    play(n * 10 + 10, { feed_url: FEED, guid: "g", sent_at: START - 3_600_000 + n * 10_000, started: n * 10 }),
  );
  const [even, odd] = [0, 1].map((rest) => actions.filter((_, n) => n % 2 === rest));
  await move({ actions: [...(even ?? []), ...(odd ?? [])] });
  const { plays } = await listPlays(podkeep.app, actor, { limit: 1000 });
  expect(plays.map(({ started, position }) => [started, position])).toEqual([[0, 3600]]);
});

test("a file that says how much was ever listened to of an episode adds only what is new, at each run", async () => {
  const { actor, move } = await open();
  const heardAt = async (position: number, heard: number, sent_at: number) => {
    const action = { ...at(position, sent_at), started: position - Math.min(heard, position), heard };
    expect((await move({ actions: [action] })).stored).toBe(1);
    expect((await move({ actions: [action] })).stored).toBe(0);
    const { plays } = await listPlays(podkeep.app, actor, { limit: 10 });
    return plays.map(({ started, position }) => (position ?? 0) - (started ?? 0)).reduce((a, b) => a + b, 0);
  };
  const day = 86_400_000;
  expect(await heardAt(600, 600, START - 9 * day)).toBe(600);
  expect(await heardAt(1500, 1500, START - 8 * day)).toBe(1500);
  // A part was skipped.
  expect(await heardAt(3000, 2000, START - 7 * day)).toBe(2000);
  // Once more from the start.
  expect(await heardAt(400, 2400, START - 6 * day)).toBe(2400);
  // All until there was skipped.
  expect(await heardAt(3500, 2400, START - 5.5 * day)).toBe(2400);
  // The app has begun to count again.
  expect(await heardAt(700, 300, START - 5 * day)).toBe(2700);
});

test("a file that says how much was ever listened to of an episode adds nothing that its app has synced itself", async () => {
  const { actor, move } = await open();
  const app = identifyClient(actor, appNamed("AntennaPod", "gpodder"));
  await uploadActions(podkeep.app, actor, app, [{ ...at(900, START - 8000), started: 0 }]);
  const heard = async (position: number, sent_at: number) => {
    await move({ actions: [{ ...at(position, sent_at), started: 0, heard: position }] });
    const { plays } = await listPlays(podkeep.app, actor, { limit: 10 });
    return plays.map(({ started, position }) => (position ?? 0) - (started ?? 0)).reduce((a, b) => a + b, 0);
  };
  expect(await heard(900, START - 7500)).toBe(900);
  expect(await heard(1500, START - 5000)).toBe(1500);
});

test("of a file's plays, those that ended too long ago, or before they began, are left out", async () => {
  const { actor, move } = await open();
  const { plays_keep = 0 } = podkeep.app.config;
  const stretch = (begun_at: number, sent_at: number) => ({ ...at(60, sent_at), started: 0, begun_at });
  const old = START - plays_keep - 1;
  const plays = [stretch(old - 60_000, old), stretch(START - 1000, START - 2000), stretch(START - 9000, START - 5000)];
  await move({ actions: [at(60, START - 5000)], plays });
  expect((await listPlays(podkeep.app, actor, { limit: 10 })).plays).toMatchObject([{ ended_at: START - 5000 }]);
});

test("all places and plays come into an account with a long list, from feeds that are in no list too", async () => {
  const { actor, move } = await open();
  const feeds = Array.from({ length: 3000 }, (_, n) => ({
    feed_url: `https://long.example/${n}`,
    title: null,
    guid: null,
  }));
  await move({ feeds });
  const elsewhere = (n: number) => ({ feed_url: `https://other.example/${n}`, episode_url: `https://e.example/${n}` });
  const actions = Array.from({ length: 300 }, (_, n) => play(5, { ...elsewhere(n), sent_at: START - 5000 }));
  const plays = actions.map((action) => ({ ...action, begun_at: START - 20_000, started: 0 }));
  const moving = { ...nothingFrom("old.example"), actions, plays };
  const results = [];
  for (const dry_run of [true, false, true]) results.push(await moveIn(podkeep.app, actor, moving, { dry_run }));
  expect(results.map(({ stored }) => stored)).toEqual([600, 600, 0]);
  expect((await listPlays(podkeep.app, actor, { limit: 1000 })).plays).toHaveLength(300);
});

test("plays come in of an episode that a later one of them shows to be another", async () => {
  const { actor, move } = await open();
  const [byUrl, byGuid] = [{ episode_url: "https://a.example/1.mp3", guid: null }, { guid: "g" }];
  const other = { ...byGuid, episode_url: "https://cdn.example/1.mp3" };
  const playOf = (episode: Partial<Moving["actions"][number]>, hours: number) => ({
    ...play(60, { feed_url: FEED, sent_at: START - hours * 3_600_000, started: 0, ...episode }),
    begun_at: START - hours * 3_600_000 - 60_000,
  });
  await move({ actions: [playOf(byUrl, 9), playOf(other, 8)] });
  await move({ plays: [playOf(byUrl, 3), playOf({ ...byUrl, ...byGuid }, 2)] });
  const { plays } = await listPlays(podkeep.app, actor, { limit: 10 });
  expect(plays.map(({ ended_at }) => (START - ended_at) / 3_600_000)).toEqual([2, 3, 8, 9]);
});

test("a play that came in before comes in once, though the file now shows that its episode is another one", async () => {
  const { actor, move } = await open();
  const [byUrl, byGuid] = [{ episode_url: "https://a.example/1.mp3", guid: null }, { guid: "g" }];
  const playOf = (episode: Partial<Moving["actions"][number]>) => ({
    ...play(60, { feed_url: FEED, sent_at: START - 3_600_000, started: 0, ...episode }),
    begun_at: START - 3_660_000,
  });
  await move({ actions: [playOf(byUrl)], plays: [playOf(byUrl)] });
  await uploadActions(podkeep.app, actor, null, [
    play(5, { feed_url: FEED, guid: "g", sent_at: START - 9 * 3_600_000 }),
  ]);
  const before = (await listPlays(podkeep.app, actor, { limit: 10 })).plays.length;
  expect((await move({ plays: [playOf({ ...byUrl, ...byGuid })] })).stored).toBe(0);
  expect((await listPlays(podkeep.app, actor, { limit: 10 })).plays).toHaveLength(before);
});

test("of two places in one second the one that came last there counts, at each run", async () => {
  const { move, place } = await open();
  const actions = [at(100, START - 5000), at(300, START - 5000)];
  expect((await move({ actions })).stored).toBe(1);
  expect(await place()).toBe(300);
  expect((await move({ actions })).stored).toBe(0);
  expect(await place()).toBe(300);
});

test("a dry run counts a place that comes twice once, as the real one does", async () => {
  const { actor, move } = await open();
  const episode = (n: number) => ({ guid: `g${n}`, episode_url: `https://a.example/${n}.mp3` });
  // Twice in one second, around the 128 of a batch, and once more without a time.
  const actions = Array.from({ length: 200 }, (_, n) => ({ ...at(60, START - 9000), ...episode(n % 150) }));
  const moving = { actions, untimed: [{ ...at(60, 0), ...episode(1) }] };
  const all = { ...nothingFrom("old.example"), ...moving };
  const { stored } = await moveIn(podkeep.app, actor, all, { dry_run: true });
  expect([stored, (await move(moving)).stored]).toEqual([150, 150]);
});

test("a podcast that another app removed before is added; what was unsubscribed since an earlier run stays so", async () => {
  const { user, move } = await open();
  const feeds = [FEED, "https://b.example/rss"].map((feed_url) => ({ feed_url, title: null, guid: null }));
  const before = await user.add("https://b.example/rss");
  await user.request("PATCH", `/subscriptions/${before.guid}`, { is_subscribed: false });
  expect((await move({ feeds })).feeds.added).toHaveLength(2);
  for (const { guid } of await user.changes()) {
    await user.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
  }
  const { feeds: moved, left } = await move({ feeds });
  expect([moved.added.length, moved.present.length, left.length]).toEqual([0, 0, 2]);
  expect((await user.changes()).filter((one) => one.is_subscribed)).toEqual([]);
});

test("what was unsubscribed since an earlier run stays so, though it became part of another podcast before", async () => {
  const { user, move } = await open();
  const other = await user.add("https://other.example/rss");
  const feeds = [{ feed_url: FEED, title: null, guid: null }];
  await move({ feeds });
  const [{ guid }] = (await user.changes()).filter(({ feed_url }) => feed_url === FEED);
  await user.request("PATCH", `/subscriptions/${guid}`, { new_guid: other.guid });
  await user.request("PATCH", `/subscriptions/${other.guid}`, { is_subscribed: false });
  expect((await move({ feeds })).feeds.added).toEqual([]);
  expect((await user.changes()).map(({ is_subscribed }) => is_subscribed)).not.toContain(true);
});

test("what was unsubscribed since an earlier run stays so, though it has moved on the other server since", async () => {
  const { user, move } = await open();
  const feed = { feed_url: FEED, title: null, guid: guidOf(1) };
  await move({ feeds: [feed] });
  await user.request("PATCH", `/subscriptions/${guidOf(1)}`, { is_subscribed: false });
  expect((await move({ feeds: [{ ...feed, feed_url: "https://moved.example/rss" }] })).feeds.added).toEqual([]);
});

test("every device is told at its next sync", async () => {
  const { user, move } = await open();
  const headers = basicAuth(user.name, user.token);
  const ask = async (since: number) =>
    (await podkeep.send("GET", `/api/2/episodes/${user.name}.json?since=${since}`, { headers })).body;
  const { timestamp } = await ask(0);
  podkeep.clock.advance(10_000);
  await move({ actions: [at(100, START - 5000)] });
  podkeep.clock.advance(10_000);
  expect((await ask(timestamp)).actions).toMatchObject([{ position: 100 }]);
});

async function fileOf(actor: Actor): Promise<string> {
  const tables = exportAccount(podkeep.app, actor);
  const all = tables.map(async ({ name, parts }) => [name, (await Array.fromAsync(parts)).flat()] as const);
  return JSON.stringify({ tables: Object.fromEntries(await Promise.all(all)) });
}

test("a server with more devices than may be ends none that syncs here", async () => {
  const { actor, move } = await open();
  await saveDevice(podkeep.app, actor, { id: "phone" });
  const devices = Array.from({ length: 300 }, (_, n) => ({ id: `d${n}`, caption: "", type: "other" as const }));
  expect((await move({ devices: [...devices, ...devices] })).devices).toBe(199);
  expect((await listDevices(podkeep.app, actor)).map(({ id }) => id)).toContain("phone");
});

test("devices whose ids can't be stored are left out, however many the runtime takes for the same at first", async () => {
  const { move } = await open();
  const devices = ["phone", ...sameHash(300_000)].map((id) => ({ id, caption: "", type: "other" as const }));
  expect((await move({ devices })).devices).toBe(1);
});

test("podkeep's own file brings the podcasts that are subscribed, and the devices", async () => {
  const there = await open();
  const [{ guid }, left, deleted] = [
    await there.user.add(FEED),
    await there.user.add("https://left.example/rss"),
    await there.user.add("https://deleted.example/rss"),
  ];
  await there.user.request("PATCH", `/subscriptions/${left.guid}`, { is_subscribed: false });
  await there.user.remove(deleted.guid);
  await podkeep.drain();
  const phone = { id: "phone", caption: "Ann's phone", type: "mobile" as const };
  await saveDevice(podkeep.app, there.actor, phone);
  const moving = readExport(await fileOf(there.actor));
  expect(moving).toMatchObject({ feeds: [{ feed_url: FEED, guid }], devices: [phone] });
  expect(moving.feeds).toHaveLength(1);
});

test("podkeep's own file brings each stretch as it was: with pauses, on two devices, fast, and what was set", async () => {
  const MINUTE = 60_000;
  const [there, here] = [await open(), await open()];
  const start = START + 24 * 60 * MINUTE;
  podkeep.clock.set(start + 120 * MINUTE);
  const upload = (
    device: string,
    app: "AntennaPod" | "Kasts",
    minutes: number,
    position: number,
    started: number,
    more = {},
  ) => {
    const actor = { ...there.actor, device };
    const action = play(position, { started, sent_at: start + minutes * MINUTE, ...more });
    return uploadActions(podkeep.app, actor, identifyClient(actor, appNamed(app, "gpodder")), [action]);
  };
  await upload("phone", "AntennaPod", 10, 600, 0);
  await upload("phone", "AntennaPod", 45, 1200, 600);
  await upload("tablet", "AntennaPod", 50, 1500, 1200);
  await upload("laptop", "Kasts", 50, 1200, 1200);
  await upload("laptop", "Kasts", 55, 1500, 1500);
  await upload("phone", "AntennaPod", 60, 3500, 1700);
  await upload("phone", "AntennaPod", 61, 100, 0);
  await upload("phone", "AntennaPod", 70, 0, 0, { episode_url: "https://feed.example/2.mp3", total: null });
  const plays = async (actor: Actor) => {
    const page = await listPlays(podkeep.app, actor, { limit: 100 });
    const rows = page.plays.map((one) => [
      one.episode_url,
      one.begun_at,
      one.ended_at,
      one.started,
      one.position,
      one.total,
    ]);
    return rows.map(String).sort();
  };
  const begun = async (actor: Actor) =>
    (await listBegun(podkeep.app, actor, 10)).map(({ episode_url, at, position, total }) => [
      episode_url,
      at,
      position,
      total,
    ]);
  const [last] = await listBegun(podkeep.app, there.actor, 1);
  await setPosition(podkeep.app, there.actor, { episode: last?.episode ?? 0, position: 3000 });
  expect(await plays(there.actor)).toHaveLength(7);
  const moving = readExport(await fileOf(there.actor));
  const { stored } = await moveIn(podkeep.app, here.actor, moving, { dry_run: true });
  expect((await here.move(moving)).stored).toBe(stored);
  expect((await here.move(moving)).stored).toBe(0);
  expect(await plays(here.actor)).toEqual(await plays(there.actor));
  expect(await begun(here.actor)).toEqual(await begun(there.actor));
});

test("podkeep's own file brings an episode that was marked as not played at its start, and makes nothing of it a play", async () => {
  const [there, here] = [await open(), await open()];
  const actor = { ...there.actor, device: "phone" };
  const client = identifyClient(actor, appNamed("Podsilo", "gpodder"));
  await uploadActions(podkeep.app, actor, client, [play(0, { sent_at: START - 1000 })]);
  await there.move({ untimed: [at(600, START - 5000)] });
  const moving = readExport(await fileOf(there.actor));
  await here.move(moving);
  const told = { since: 0, feed_url: null, aggregated: false, peek: true };
  const actionsOf = async (one: Actor) => {
    const { pages } = await readActions(podkeep.app, one, null, told);
    const actions = (await Array.fromAsync(pages ?? [])).flat();
    return actions.map(({ kind, position, acted_at }) => [kind, position, acted_at]).sort();
  };
  expect(await actionsOf(there.actor)).toContainEqual(["play", 0, START - 1000]);
  expect(await actionsOf(here.actor)).toEqual(await actionsOf(there.actor));
  for (const { actor } of [there, here]) expect((await listPlays(podkeep.app, actor, { limit: 9 })).plays).toEqual([]);
});

test("plays that began at one time come in once each, by their ends and positions, and no more than 16", async () => {
  const { actor, move } = await open();
  await move({ actions: [at(1, START - 900_000)] });
  const begun_at = START - 600_000;
  const playTo = (position: number, seconds: number) => ({
    ...at(position, begun_at + seconds * 1000),
    started: 0,
    begun_at,
  });
  const three = [playTo(60, 60), playTo(60, 90), playTo(120, 90)];
  expect((await move({ plays: [...three, ...three] })).stored).toBe(3);
  expect((await move({ plays: three.toReversed() })).stored).toBe(0);
  const { plays } = await listPlays(podkeep.app, actor, { limit: 100 });
  const kept = plays.filter((one) => one.begun_at === begun_at);
  expect(kept.map(({ position, ended_at }) => [position, ended_at - begun_at]).sort()).toEqual([
    [120, 90_000],
    [60, 60_000],
    [60, 90_000],
  ]);
  const many = Array.from({ length: 20 }, (_, n) => playTo(n, 120));
  expect((await move({ plays: many })).stored).toBe(13);
});

test("podkeep's own file brings what was listened to of a podcast that was merged, to the podcast that stayed", async () => {
  const [there, here] = [await open(), await open()];
  const [OLD, NEW] = ["https://old.example/rss", "https://new.example/rss"];
  const [{ guid }, { guid: new_guid }] = [await there.user.add(OLD), await there.user.add(NEW)];
  await there.move({ actions: [{ ...at(100, START - 5000), feed_url: OLD }] });
  await there.user.request("PATCH", `/subscriptions/${guid}`, { new_guid });
  await here.move(readExport(await fileOf(there.actor)));
  const feeds = async (actor: Actor) => [
    ...(await listBegun(podkeep.app, actor, 10)).map(({ feed_url }) => feed_url),
    ...(await listPlays(podkeep.app, actor, { limit: 10 })).plays.map(({ feed_url }) => feed_url),
  ];
  expect(await feeds(there.actor)).toEqual([NEW, NEW]);
  expect(await feeds(here.actor)).toEqual([NEW, NEW]);
});

test("podkeep's own file brings what was listened to of a podcast that was merged twice, though no episode is moved yet", async () => {
  const [there, here] = [await open(), await open()];
  const [FIRST, SECOND, LAST] = ["https://1.example/rss", "https://2.example/rss", "https://3.example/rss"];
  const guids: string[] = [];
  for (const feed_url of [FIRST, SECOND, LAST]) guids.push((await there.user.add(feed_url)).guid);
  const actions = Array.from({ length: 1100 }, (_, n) => ({
    ...at(100, START - 5000),
    guid: `g${n}`,
    feed_url: FIRST,
  }));
  await there.move({ actions });
  await there.user.request("PATCH", `/subscriptions/${guids[0]}`, { new_guid: guids[1] });
  await there.user.request("PATCH", `/subscriptions/${guids[1]}`, { new_guid: guids[2] });
  expect(await podkeep.sql(`select target from episode_moves where user_id = ${there.user.id}`)).toHaveLength(2);
  await here.move(readExport(await fileOf(there.actor)));
  const begun = await listBegun(podkeep.app, here.actor, 2000);
  expect(begun).toHaveLength(1100);
  expect(new Set(begun.map(({ feed_url }) => feed_url))).toEqual(new Set([LAST]));
});

test("a dry run counts what it would store, however often an episode that is here is named", async () => {
  const { actor, move } = await open();
  await move({ actions: [at(100, START - 9000)] });
  const others = Array.from({ length: 300 }, (_, n) => ({ ...at(10, START - 5000), guid: `other${n}` }));
  const actions = [at(200, START - 5000), ...others, at(300, START - 5000)];
  const moveAll = (dry_run: boolean) =>
    moveIn(podkeep.app, actor, { ...nothingFrom("old.example"), actions }, { dry_run });
  for (const dry_run of [true, false]) expect((await moveAll(dry_run)).stored).toBe(301);
});

test("podkeep's own file brings nothing twice into the account that it is of, though an app has played on since", async () => {
  const { actor, move } = await open();
  const [MINUTE, start] = [60_000, podkeep.clock.now()];
  const phone = { ...actor, device: "phone" };
  const client = identifyClient(phone, appNamed("AntennaPod", "gpodder"));
  const listen = async (started: number, position: number, minutes: number) => {
    podkeep.clock.set(start + minutes * MINUTE);
    await uploadActions(podkeep.app, phone, client, [play(position, { started, sent_at: podkeep.clock.now() })]);
  };
  const seen = async () =>
    (await listPlays(podkeep.app, actor, { limit: 9 })).plays.map(({ started, position }) => [started, position]);
  await listen(0, 600, 10);
  const moving = readExport(await fileOf(actor));
  expect((await move(moving)).stored).toBe(0);
  expect(await seen()).toEqual([[0, 600]]);
  await listen(600, 1200, 20);
  expect((await move(moving)).stored).toBe(0);
  expect(await seen()).toEqual([[0, 1200]]);
});
