// Plays on a real database: kept from uploads, with merges, deletions, limits; setting a position.
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { createBackup } from "../../../src/backups/backups.ts";
import { restoreBackup } from "../../../src/backups/restore.ts";
import type { EpisodeAction } from "../../../src/domain/episode-actions.ts";
import { appNamed } from "../../../src/http/apps.ts";
import { deleteUser } from "../../../src/services/accounts/user-deletion.ts";
import { type Actor, actAsUser } from "../../../src/services/actor.ts";
import { type Client, identifyClient } from "../../../src/services/devices/clients.ts";
import { readActions } from "../../../src/services/listening/episode-actions.ts";
import { uploadActions } from "../../../src/services/listening/episode-uploads.ts";
import { findEpisodeId, isAtEnd, listBegun, readEpisode } from "../../../src/services/listening/listening.ts";
import { listPlays, type PlayEntry } from "../../../src/services/listening/play-list.ts";
import { prunePlays } from "../../../src/services/listening/plays.ts";
import { setPosition } from "../../../src/services/listening/positions.ts";
import {
  addSubscriptions,
  patchSubscription,
  requestDeletion,
} from "../../../src/services/subscriptions/subscriptions.ts";
import { play } from "../../domain/episode-sync.ts";
import { openTestApp, type TestApp } from "../../support/app.ts";
import { ON_SQLITE } from "../../support/database.ts";
import { validFeed } from "../../support/feed-url.ts";
import { PATIENCE } from "../../support/patience.ts";
import { rejectionOf } from "../../support/rejection.ts";

setDefaultTimeout(PATIENCE);

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const A = "https://a.example/rss";
const B = "https://b.example/rss";

let podkeep: TestApp;
let ann: Actor;
beforeAll(async () => {
  podkeep = await openTestApp({ plays_keep: "400d" });
});
beforeEach(async () => {
  ann = actAsUser((await podkeep.user()).id);
});
afterAll(() => podkeep.close());

const clientOf = (device: string, actor = ann): Client =>
  identifyClient({ ...actor, device }, appNamed("AntennaPod", "gpodder"));

const upload = (device: string, actions: EpisodeAction[], actor = ann) =>
  uploadActions(podkeep.app, { ...actor, device }, clientOf(device, actor), actions);

async function listened({ episode }: { episode?: number } = {}, actor = ann): Promise<PlayEntry[]> {
  const { plays } = await listPlays(podkeep.app, actor, { limit: 1000 });
  return plays.filter((play) => episode === undefined || play.episode === episode);
}

const rowsOf = async (actor = ann) =>
  (await listened({}, actor)).map(({ started, position, ended_at, by }) => [by.device, started, position, ended_at]);

/** Where the only episode is. */
async function placeOfOne(): Promise<number | null> {
  const [first] = await listened();
  return (await readEpisode(podkeep.app, ann, first?.episode ?? 0)).position;
}

async function subscribe(feed_url: string): Promise<string> {
  const [added] = await addSubscriptions(podkeep.app, ann, [{ feed: validFeed(feed_url), guid: null }]);
  return added?.guid ?? "";
}

/** Waits until there was time for plays. */
const now = () => {
  podkeep.clock.advance(DAY);
  return Math.floor(podkeep.clock.now() / 1000) * 1000;
};

test("each stretch is kept with its app, a later play that it loses against too, and once", async () => {
  const end = now();
  await upload("phone", [play(600, { sent_at: end - 10 * MINUTE })]);
  const older = [play(300, { sent_at: end - 60 * MINUTE }), play(360, { started: 300, sent_at: end - 59 * MINUTE })];
  for (let n = 0; n < 2; n++) await upload("tablet", older);
  expect(await rowsOf()).toEqual([
    ["phone", 0, 600, end - 10 * MINUTE],
    ["tablet", 0, 360, end - 59 * MINUTE],
  ]);
  const [first] = await listened();
  expect(first).toMatchObject({ feed_url: "https://feed.example/rss", episode_url: "https://feed.example/1.mp3" });
});

test("a stretch that an upload makes longer twice is kept to its end", async () => {
  const end = now();
  await upload("phone", [play(600, { sent_at: end - 30 * MINUTE })]);
  const parts = [
    play(900, { started: 600, sent_at: end - 20 * MINUTE }),
    play(1200, { started: 900, sent_at: end - 10 * MINUTE }),
  ];
  await upload("phone", parts);
  expect(await rowsOf()).toEqual([["phone", 0, 1200, end - 10 * MINUTE]]);
});

test("each stretch is kept once if an app repeats what it played under an address that no list has", async () => {
  await subscribe(B);
  const end = now();
  const parts = [
    play(600, { feed_url: A, sent_at: end - 60 * MINUTE }),
    play(1200, { feed_url: B, started: 600, sent_at: end - 10 * MINUTE }),
  ];
  for (let n = 0; n < 2; n++) await upload("phone", parts);
  expect(await rowsOf()).toEqual([
    ["phone", 600, 1200, end - 10 * MINUTE],
    ["phone", 0, 600, end - 60 * MINUTE],
  ]);
});

test("what an app reports of one second is kept once, also if the later of it is elsewhere", async () => {
  const end = now();
  const reports = [play(600, { sent_at: end }), play(900, { started: 900, sent_at: end }), play(60, { sent_at: end })];
  for (const one of reports) await upload("phone", [one]);
  const kept = await rowsOf();
  expect(kept).toHaveLength(2);
  for (const one of reports) await upload("phone", [one]);
  await upload("phone", reports);
  expect(await rowsOf()).toEqual(kept);
});

test("what goes on with one of two stretches that ended in one second leaves the other as it was", async () => {
  const end = now() - 30 * MINUTE;
  const parts = [play(600, { sent_at: end }), play(900, { started: 700, sent_at: end })];
  const seconds = async () =>
    (await listened()).reduce((sum, one) => sum + (one.position ?? 0) - (one.started ?? 0), 0);
  for (const part of parts) await upload("phone", [part]);
  await upload("phone", [play(1200, { started: 600, sent_at: end + 10 * MINUTE })]);
  expect(await seconds()).toBe(600 + 200 + 600);
});

test("what a phone whose clock is ahead uploads again, because it got no response, is kept once", async () => {
  const end = now();
  const parts = [
    play(600, { sent_at: end - 10 * MINUTE }),
    play(900, { started: 600, sent_at: end - 5 * MINUTE }),
    play(1500, { started: 900, sent_at: end + 5 * MINUTE }),
  ];
  for (let n = 0; n < 3; n++) {
    await upload("phone", parts);
    podkeep.clock.advance(20 * MINUTE);
  }
  expect(await rowsOf()).toEqual([["phone", 0, 1500, end]]);
});

test("what a phone whose clock is ahead uploads again is kept once, also if it is more than one play of an episode", async () => {
  const end = now();
  const parts = [
    play(600, { sent_at: end + 50 * MINUTE }),
    play(1900, { started: 1600, sent_at: end + 55 * MINUTE }),
    play(2000, { started: 1900, sent_at: end + 60 * MINUTE }),
  ];
  for (let n = 0; n < 3; n++) {
    await upload("phone", parts);
    expect(await rowsOf()).toEqual([
      ["phone", 1600, 2000, end],
      ["phone", 0, 600, end],
    ]);
    podkeep.clock.advance(10 * MINUTE);
  }
});

test("what a laptop whose clock is ahead uploads again is kept once, though another app was there in between", async () => {
  const laptop = identifyClient({ ...ann, device: "laptop" }, appNamed("gPodder", "gpodder"));
  const end = now();
  const sent = [play(1200, { sent_at: end + MINUTE }), play(1800, { started: 1200, sent_at: end + 2 * MINUTE })];
  const send = () => uploadActions(podkeep.app, { ...ann, device: "laptop" }, laptop, sent);
  await send();
  podkeep.clock.advance(MINUTE);
  await upload("phone", [play(1900, { started: 1800, sent_at: end + MINUTE })]);
  podkeep.clock.advance(10 * MINUTE);
  await send();
  expect(await rowsOf()).toEqual([
    ["phone", 1800, 1900, end + MINUTE],
    ["laptop", 0, 1800, end],
  ]);
});

test("what a phone whose clock is ahead uploads again moves no position back that a laptop has set since", async () => {
  const end = now();
  const sent = [
    play(600, { sent_at: end + 60 * MINUTE }),
    play(2000, { started: 1600, sent_at: end + 61 * MINUTE }),
    play(1700, { started: 1650, sent_at: end + 62 * MINUTE }),
  ];
  await upload("phone", sent);
  podkeep.clock.advance(10 * MINUTE);
  await upload("laptop", [play(2300, { started: 1700, sent_at: podkeep.clock.now() })]);
  const rows = await rowsOf();
  for (let n = 0; n < 2; n++) {
    podkeep.clock.advance(10 * MINUTE);
    await upload("phone", sent);
    expect(await placeOfOne()).toBe(2300);
    expect(await rowsOf()).toEqual(rows);
  }
  await upload("phone", [play(2400, { started: 2300, sent_at: end + 63 * MINUTE })]);
  expect(await placeOfOne()).toBe(2400);
});

test("a mark as played of a laptop whose clock is ahead is made once, and again if its user does", async () => {
  const laptop = identifyClient({ ...ann, device: "laptop" }, appNamed("gPodder", "gpodder"));
  const end = now();
  const mark = (minutes: number) =>
    uploadActions(podkeep.app, { ...ann, device: "laptop" }, laptop, [
      play(3600, { started: 3600, sent_at: end + minutes * MINUTE }),
    ]);
  await mark(60);
  podkeep.clock.advance(MINUTE);
  await upload("phone", [play(10, { sent_at: podkeep.clock.now() })]);
  podkeep.clock.advance(MINUTE);
  await mark(60);
  expect(await placeOfOne()).toBe(10);
  await mark(61);
  expect(await placeOfOne()).toBe(3600);
});

test("whatever a phone whose clock is ahead and a laptop send again, the last one that played decides the position", async () => {
  const stretch = fc.record({ started: fc.nat(3000), seconds: fc.integer({ min: 1, max: 500 }) });
  const uploading = fc.record({
    device: fc.constantFrom("phone", "laptop"),
    minutes: fc.integer({ min: 1, max: 90 }),
    stretches: fc.array(stretch, { minLength: 1, maxLength: 3 }),
    again: fc.subarray(["phone", "laptop"]),
  });
  const uploads = fc.array(uploading, { minLength: 1, maxLength: 12 });
  // In minutes, and how many uploads that lasts.
  const ahead = fc.record({ minutes: fc.integer({ min: 1, max: 600 }), until: fc.nat(12) });
  await fc.assert(
    fc.asyncProperty(uploads, ahead, async (steps, { minutes: difference, until }) => {
      ann = actAsUser((await podkeep.user()).id);
      now();
      const sent = new Map<string, EpisodeAction[]>();
      for (const [n, { device, minutes, stretches, again }] of steps.entries()) {
        podkeep.clock.advance(minutes * MINUTE);
        const plays = stretches.map(({ started, seconds }) => {
          podkeep.clock.advance(seconds * 1000);
          // Not to the millisecond: what is played as that time comes would be taken for what was sent then.
          const ahead = device === "phone" && n < until ? difference * MINUTE + 1 : 0;
          const sent_at = podkeep.clock.now() + ahead;
          return play(started + seconds, { started, sent_at });
        });
        sent.set(device, plays);
        await upload(device, plays);
        const rows = await rowsOf();
        for (const one of again) {
          podkeep.clock.advance(MINUTE);
          await upload(one, sent.get(one) ?? []);
          expect(await rowsOf()).toEqual(rows);
          expect(await placeOfOne()).toBe(plays.at(-1)?.position ?? null);
        }
      }
    }),
    { numRuns: Math.ceil(Number(process.env["PODKEEP_MODEL_RUNS"] ?? 100) / 4) },
  );
});

test("what a phone plays once its clock is no longer ahead is kept, and its position counts", async () => {
  const end = now();
  await upload("phone", [play(600, { sent_at: end + 60 * MINUTE })]);
  podkeep.clock.advance(20 * MINUTE);
  await upload("phone", [play(900, { started: 600, sent_at: end + 19 * MINUTE })]);
  expect((await rowsOf()).reduce((sum, [, started, position]) => sum + Number(position) - Number(started), 0)).toBe(
    900,
  );
});

test("of very many reports of one second the first are kept, in one upload, in many, and again", async () => {
  const end = now();
  const skipped = Array.from({ length: 300 }, (_, n) => play(n + 1, { started: n + 1, sent_at: end }));
  for (let n = 0; n < 2; n++) await upload("phone", skipped);
  for (const one of skipped.slice(0, 20)) await upload("tablet", [one]);
  const by = Map.groupBy(await rowsOf(), ([device]) => device);
  expect(by.get("phone")).toHaveLength(16);
  expect(by.get("tablet")).toHaveLength(16);
  const later = now();
  await upload("phone", [play(400, { started: 301, sent_at: later })]);
  expect(await rowsOf()).toContainEqual(["phone", 301, 400, later]);
});

interface Stretch {
  device: string;
  episode: string;
  started: number;
  position: number;
  from: number;
  to: number;
}

/** What should be kept, said plainly: one client's reports in the order of their times. */
function oracle(reports: { device: string; action: EpisodeAction }[]): Stretch[] {
  const rows: Stretch[] = [];
  /** Where the last report of each began. */
  const said = new Map<Stretch, number>();
  for (const { device, action } of reports.toSorted((a, b) => a.action.sent_at - b.action.sent_at)) {
    const { episode_url: episode, started, position, sent_at: to } = action;
    if (started === null || position === null) continue;
    const own = rows.filter((row) => row.device === device && row.episode === episode);
    const last = own.at(-1);
    // What is played at more than its speed takes less time than it is long.
    const from = Math.max(to - (position - started) * 1000, last ? last.to + 1 : 0);
    const joins = last && Math.abs(started - last.position) <= 10 && from - last.to <= 30 * MINUTE;
    // An app may report again from where it began first.
    const same = last && [last.started, said.get(last)].includes(started);
    const moved = position - (last?.position ?? 0);
    const passed = to - (last?.to ?? 0);
    const pause = passed - moved * 1000;
    const again =
      last && same && (moved > 0 ? started > 0 || pause <= 30 * MINUTE : passed < (position - started) * 1000);
    const reached = last && again ? Math.min(last.position, position) : started;
    const begun = { started: reached, from: Math.max(to - (position - reached) * 1000, last ? last.to + 1 : 0) };
    const goesOn = last && moved > 0 && (again ? pause <= 30 * MINUTE : joins);
    const row = goesOn ? last : { device, episode, position, to, ...begun };
    if (row === last) Object.assign(row, { position, to });
    else rows.push(row);
    said.set(row, started);
  }
  return rows;
}

const session = fc.record({
  device: fc.constantFrom("phone", "tablet"),
  episode: fc.nat(2),
  // None if somebody skips on.
  pause: fc.constantFrom(0, 5, 20 * 60, 40 * 60),
  speed: fc.constantFrom(1, 2, 3),
  goesOn: fc.boolean(),
  from: fc.nat(1000),
  length: fc.integer({ min: 20, max: 600 }),
});

test("in any order, together or again, uploads leave the plays that were listened to", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(session, { maxLength: 15 }), fc.array(fc.boolean()), async (sessions, cuts) => {
      const actor = actAsUser((await podkeep.user()).id);
      const ends = new Map<string, number>();
      let at = now();
      const reports = sessions.map(({ device, episode, pause, speed, goesOn, from, length }) => {
        const key = `${device} ${episode}`;
        const started = goesOn ? (ends.get(key) ?? from) : from;
        at += (pause + Math.ceil(length / speed)) * 1000;
        ends.set(key, started + length);
        const episode_url = `https://feed.example/${episode}.mp3`;
        return { device, action: play(started + length, { started, episode_url, sent_at: at, total: 100_000 }) };
      });
      podkeep.clock.set(at);
      for (const device of ["tablet", "phone"]) {
        let batch: EpisodeAction[] = [];
        for (const [index, { device: own, action }] of reports.entries()) {
          if (own === device) batch.push(action);
          if (!cuts[index]) continue;
          await upload(device, batch, actor);
          await upload(device, batch, actor);
          batch = [];
        }
        await upload(device, batch, actor);
        await upload(device, batch, actor);
      }
      const kept = (await listened({}, actor)).map((row) => ({
        device: row.by.device ?? "",
        episode: row.episode_url,
        started: row.started,
        position: row.position,
        from: row.begun_at,
        to: row.ended_at,
      }));
      const order = (a: { device: string; to: number }, b: { device: string; to: number }) => a.to - b.to;
      expect<unknown>(kept.sort(order)).toEqual(oracle(reports).sort(order));
    }),
    { numRuns: Math.ceil(Number(process.env["PODKEEP_MODEL_RUNS"] ?? 100) / 2) },
  );
});

test("an app that says after each pause where it began first is counted once, in one upload and in many", async () => {
  for (const together of [true, false]) {
    const actor = actAsUser((await podkeep.user()).id);
    const end = now();
    podkeep.clock.advance(DAY);
    // Loaded again at 1800, and at 2700, with a pause of hours there.
    const parts = [
      [10, 0, 600],
      [25, 0, 1200],
      [40, 0, 1800],
      [50, 1800, 2400],
      [75, 1800, 2700],
      [180, 2700, 3000],
      [500, 2700, 3600],
    ] as const;
    const reports = parts.map(([minutes, started, position]) =>
      play(position, { started, sent_at: end + minutes * MINUTE }),
    );
    for (let n = 0; n < 2; n++) {
      if (together) await upload("phone", reports, actor);
      else for (const one of reports) await upload("phone", [one], actor);
    }
    expect((await rowsOf(actor)).map(([, from, to]) => [from, to])).toEqual([
      [3000, 3600],
      [2700, 3000],
      [0, 2700],
    ]);
  }
});

test("what an app says again of where it began first is counted once, though another app was there later", async () => {
  const end = now();
  podkeep.clock.advance(DAY);
  await upload("tablet", [play(600, { sent_at: end + 60 * MINUTE })]);
  const parts = [
    play(600, { sent_at: end + 10 * MINUTE }),
    // Loaded again.
    play(1200, { started: 600, sent_at: end + 20 * MINUTE }),
    play(1800, { started: 600, sent_at: end + 50 * MINUTE }),
  ];
  for (let n = 0; n < 2; n++) await upload("phone", parts);
  expect(await rowsOf()).toEqual([
    ["tablet", 0, 600, end + 60 * MINUTE],
    ["phone", 0, 1800, end + 50 * MINUTE],
  ]);
});

test("what an app plays on counts from where it was itself, though another app is further", async () => {
  const end = now();
  podkeep.clock.advance(DAY);
  await upload("phone", [play(600, { sent_at: end })]);
  await upload("tablet", [play(1700, { started: 700, sent_at: end + 25 * MINUTE })]);
  await upload("phone", [play(1800, { sent_at: end + 30 * MINUTE })]);
  expect(await rowsOf()).toEqual([
    ["tablet", 700, 1700, end + 25 * MINUTE],
    ["phone", 0, 1800, end + 30 * MINUTE],
  ]);
});

test("what an app says again of where it began first is counted once, though its clock is ahead", async () => {
  for (const together of [true, false]) {
    ann = actAsUser((await podkeep.user()).id);
    const end = now();
    const parts = [600, 1200, 1100, 1800].map((position, n) =>
      play(position, { sent_at: end + (60 + 10 * n) * MINUTE }),
    );
    if (together) await upload("phone", parts);
    else for (const one of parts) await upload("phone", [one]);
    const kept = await rowsOf();
    expect(kept.reduce((sum, [, started, position]) => sum + Number(position) - Number(started), 0)).toBe(1900);
  }
});

test("what an app listens to again from where it began before counts again, if it says where each play began", async () => {
  const end = now();
  podkeep.clock.advance(DAY);
  const gpodder = identifyClient({ ...ann, device: "desk" }, appNamed("gPodder", "gpodder"));
  const reports = [10, 30].map((minutes) => play(minutes * 60, { sent_at: end + minutes * MINUTE }));
  await uploadActions(podkeep.app, { ...ann, device: "desk" }, gpodder, reports);
  expect((await rowsOf()).map(([, from, to]) => [from, to]).toSorted()).toEqual([
    [0, 1800],
    [0, 600],
  ]);
});

test("what was skipped through, or played fast, is kept once if its upload is repeated", async () => {
  for (const speed of [1, 2]) {
    const actor = actAsUser((await podkeep.user()).id);
    let at = now();
    const parts = [0, 630, 2430].map((started) => {
      at += (600 * 1000) / speed;
      return play(started + 600, { started, sent_at: at });
    });
    podkeep.clock.set(at);
    for (let n = 0; n < 3; n++) await upload("phone", parts, actor);
    expect((await listened({}, actor)).map(({ started }) => started)).toEqual([2430, 630, 0]);
  }
});

test("what an app played that doesn't say where it began, began where the episode was, in whichever app", async () => {
  const end = now();
  const send = (device: string, app: string, minutes: number, action: EpisodeAction) => {
    const client = identifyClient({ ...ann, device }, appNamed(app, "gpodder"));
    return uploadActions(podkeep.app, { ...ann, device }, client, [{ ...action, sent_at: end + minutes * MINUTE }]);
  };
  podkeep.clock.advance(DAY);
  const cardo = (minutes: number, position: number) =>
    send("laptop", "tauri-plugin-http", minutes, play(position, { started: null }));
  await cardo(10, 600);
  await cardo(20, 1200);
  await send("phone", "AntennaPod", 200, play(2400, { started: 1200 }));
  await cardo(300, 3000);
  await send("desk", "Kasts", 400, play(3300, { started: 3300 }));
  // Set back by hand.
  await cardo(500, 60);
  const rows = (await rowsOf()).toReversed().map(([device, from, to]) => [device, from, to]);
  expect(rows).toEqual([
    ["laptop", 0, 1200],
    ["phone", 1200, 2400],
    ["laptop", 2400, 3000],
    ["desk", 3000, 3300],
    ["laptop", 60, 60],
  ]);
});

/** Uploads what an app of this name says, at these minutes after a time. */
function sendAs(app: string, from: number, ...said: [number, EpisodeAction][]) {
  const actor = { ...ann, device: app };
  const client = identifyClient(actor, appNamed(app, "gpodder"));
  const actions = said.map(([minutes, action]) => ({ ...action, sent_at: from + minutes * MINUTE }));
  return uploadActions(podkeep.app, actor, client, actions);
}

const stretches = async () => (await rowsOf()).toReversed().map(([, started, position]) => [started, position]);

test("what a user of Kasts marks as played, or opens, is no listening", async () => {
  const begin = now();
  podkeep.clock.advance(3 * DAY);
  const at = (position: number) => play(position, { started: position });
  await sendAs("Kasts", begin, [0, at(0)]);
  expect(await rowsOf()).toEqual([]);
  await sendAs("Kasts", begin, [10, at(600)]);
  await sendAs("Kasts", begin, [24 * 60, at(3600)]);
  expect(await stretches()).toEqual([
    [0, 600],
    [3600, 3600],
  ]);
});

test.each([
  ["AntennaPod", "a mark as played", ["0-600", "-", "0-900"]],
  ["PinePods", "no listening", ["0-600", "600-900"]],
])("a position of 0 without a length, from %s, is %s", async (app, _, expected) => {
  const begin = now();
  podkeep.clock.advance(DAY);
  for (const [minutes, one] of [
    [0, play(600)],
    [30, play(0, { total: null })],
    [60, play(900)],
  ] as const)
    await sendAs(app, begin, [minutes, one]);
  expect((await stretches()).map((one) => one.join("-"))).toEqual(expected);
});

test("two episodes that an app stopped in one second have each what was played of it", async () => {
  const begin = now();
  podkeep.clock.advance(DAY);
  const of = (n: number, started: number, position: number) =>
    play(position, { started, episode_url: `https://feed.example/${n}.mp3` });
  await sendAs("AntennaPod", begin, [10, of(1, 300, 900)], [10, of(2, 100, 200)]);
  expect((await stretches()).toSorted(([a], [b]) => Number(a) - Number(b))).toEqual([
    [100, 200],
    [300, 900],
  ]);
});

test("a position without a start adds no hours, of an app that says where it began too", async () => {
  const begin = now();
  podkeep.clock.advance(DAY);
  await sendAs("gPodder", begin, [10, play(60)]);
  await sendAs("gPodder", begin, [11, play(1800, { started: null })]);
  expect(await stretches()).toEqual([
    [0, 60],
    [1800, 1800],
  ]);
});

test("what an app of a wrong clock says of a position that it had no time to play to adds no hours", async () => {
  const begin = now();
  podkeep.clock.set(begin);
  await sendAs("AntennaPod", begin, [1, play(1200, { started: 1200 })]);
  podkeep.clock.advance(5 * MINUTE);
  await sendAs("PinePods", begin, [65, play(3000)]);
  expect((await stretches()).at(-1)).toEqual([3000, 3000]);
});

test("what an app goes on with after a mark of the same second is kept once", async () => {
  const begin = now();
  podkeep.clock.advance(DAY);
  await sendAs("gPodder", begin, [10, play(600)]);
  await sendAs("gPodder", begin, [10, { ...play(600), position: null, started: null, total: null }]);
  const parts: [number, EpisodeAction][] = [
    [20, play(1200, { started: 600 })],
    [40, play(2000, { started: 1900 })],
  ];
  for (const part of [...parts, ...parts]) await sendAs("gPodder", begin, part);
  expect((await stretches()).reduce((sum, [from, to]) => sum + Number(to) - Number(from), 0)).toBe(600 + 600 + 100);
});

test("a play that goes on keeps the length of its episode, if the app leaves it out then", async () => {
  const begin = now();
  podkeep.clock.advance(DAY);
  await sendAs("gPodder", begin, [10, play(600)]);
  await sendAs("gPodder", begin, [15, play(900, { started: 600, total: null })]);
  expect(await listened()).toMatchObject([{ started: 0, position: 900, total: 3600 }]);
});

test("what an app plays while its user marks the episode as played is kept once", async () => {
  const begin = now();
  podkeep.clock.advance(DAY);
  await sendAs("gPodder", begin, [10, play(600)]);
  await sendAs("gPodder", begin, [70, { ...play(0), position: null, started: null, total: null }]);
  const parts: [number, EpisodeAction][] = [
    [75, play(1900, { started: 1000 })],
    [100, play(2100, { started: 2000 })],
  ];
  for (let n = 0; n < 2; n++) await sendAs("gPodder", begin, ...parts);
  expect((await stretches()).reduce((sum, [from, to]) => sum + Number(to) - Number(from), 0)).toBe(600 + 900 + 100);
});

test("an episode that is begun names the app whose position counts, and not one that began to play it later", async () => {
  const begin = now();
  podkeep.clock.advance(DAY);
  await sendAs("AntennaPod", begin, [60, play(3000)]);
  await sendAs("gPodder", begin, [40, play(600)]);
  const [begun] = await listBegun(podkeep.app, ann, 10);
  expect(begun).toMatchObject({ position: 3000, by: { device: "AntennaPod" } });
});

test("an episode that was downloaded and played is found by its id", async () => {
  const at = now();
  await upload("phone", [play(600, { sent_at: at }), play(0, { sent_at: at, kind: "download" })]);
  const [{ episode = 0 } = {}] = await listened();
  expect(await findEpisodeId(podkeep.app, ann, String(episode))).toBe(episode);
});

test("an episode is finished in its last half a minute or its last twentieth, on its page and among what is begun", async () => {
  const at = now();
  for (const [position, total, finished] of [
    [269, 300, false],
    [270, 300, true],
    [3419, 3600, false],
    [3420, 3600, true],
    [9999, null, false],
  ] as const) {
    ann = actAsUser((await podkeep.user()).id);
    await upload("phone", [play(position, { total, sent_at: at })]);
    const [{ episode = 0 } = {}] = await listened();
    expect([position, isAtEnd(await readEpisode(podkeep.app, ann, episode))]).toEqual([position, finished]);
    expect([position, (await listBegun(podkeep.app, ann, 10)).length]).toEqual([position, finished ? 0 : 1]);
  }
});

test("an episode whose app sends no length is finished at the end that its feed says, on its page and among what is begun", async () => {
  for (const [position, finished] of [
    [2849, false],
    [2850, true],
    [3300, true],
  ] as const) {
    ann = actAsUser((await podkeep.user()).id);
    await upload("phone", [play(position, { total: null, sent_at: now() })]);
    await podkeep.sql(`update episodes set duration = 3000 where user_id = '${ann.user_id}'`);
    const [{ episode = 0 } = {}] = await listened();
    expect([position, isAtEnd(await readEpisode(podkeep.app, ann, episode))]).toEqual([position, finished]);
    expect([position, (await listBegun(podkeep.app, ann, 10)).length]).toEqual([position, finished ? 0 : 1]);
  }
});

test("an episode that is opened and not played, or marked in the second of its play, is not begun", async () => {
  await sendAs("tauri-plugin-http", now(), [0, play(0)]);
  const episode_url = "https://feed.example/2.mp3";
  const begin = now() - MINUTE;
  await sendAs("gPodder", begin, [0, play(600, { episode_url })]);
  expect(await listBegun(podkeep.app, ann, 10)).toHaveLength(1);
  await sendAs("gPodder", begin, [0, { ...play(0, { episode_url }), position: null, started: null, total: null }]);
  expect(await listBegun(podkeep.app, ann, 10)).toEqual([]);
});

test("an episode is marked as finished at the length that an app says, and after all that was played of it", async () => {
  for (const [total, end] of [
    [3240, 3240],
    [null, 3100],
  ] as const) {
    ann = actAsUser((await podkeep.user()).id);
    await upload("phone", [play(3100, { total, sent_at: now() })]);
    const [{ episode = 0 } = {}] = await listened();
    await podkeep.sql(`update episodes set duration = 3000 where user_id = '${ann.user_id}'`);
    await setPosition(podkeep.app, ann, { episode, position: null });
    expect(await readEpisode(podkeep.app, ann, episode)).toMatchObject({ position: end, total: end });
  }
});

test("an episode of a podcast that is in no list has the feed URL that the app sent", async () => {
  await upload("phone", [play(600, { sent_at: now(), feed_url: A })]);
  const [{ episode = 0 } = {}] = await listened();
  expect(await readEpisode(podkeep.app, ann, episode)).toMatchObject({ feed_url: A, position: 600 });
});

test("an app that uploads what it played last first has the same plays", async () => {
  const begin = now();
  podkeep.clock.advance(DAY);
  const cases: { said: [number, EpisodeAction][]; kept: number[][] }[] = [
    {
      said: [
        [10, play(600)],
        [15, play(900, { started: 600 })],
      ],
      kept: [[0, 900]],
    },
    {
      said: [
        [30, play(1800)],
        [60, play(600)],
      ],
      kept: [
        [0, 1800],
        [0, 600],
      ],
    },
    {
      said: [
        [30, play(1800)],
        [35, play(1800)],
      ],
      kept: [
        [0, 1800],
        [1800, 1800],
      ],
    },
  ];
  for (const { said, kept } of cases) {
    for (const sent of [said, said.toReversed()]) {
      ann = actAsUser((await podkeep.user()).id);
      for (let n = 0; n < 2; n++) await sendAs("AntennaPod", begin, ...sent);
      expect(await stretches()).toEqual(kept);
    }
  }
});

test("an app that sends all that it ever played as of now adds positions and marks, and no hours", async () => {
  const end = now();
  podkeep.clock.advance(DAY);
  const gnome = identifyClient({ ...ann, device: "laptop" }, appNamed("GNOME Podcasts", "nextcloud"));
  const library = [3600, 3600, 900].map((position, index) =>
    play(position, { episode_url: `https://feed.example/${index}.mp3`, sent_at: end }),
  );
  const send = (actions: EpisodeAction[]) => uploadActions(podkeep.app, { ...ann, device: "laptop" }, gnome, actions);
  await send(library);
  // What it plays then is listening, and its repetition is known.
  await send([play(1200, { episode_url: "https://feed.example/2.mp3", started: 900, sent_at: end + 10 * MINUTE })]);
  await send(library);
  expect((await rowsOf()).toSorted((a, b) => Number(a[2]) - Number(b[2]))).toEqual([
    ["laptop", 900, 1200, end + 10 * MINUTE],
    ["laptop", 3600, 3600, end],
    ["laptop", 3600, 3600, end],
  ]);
});

test("plays of episodes that turn out to be one are kept, in whichever requests they come", async () => {
  const [one, other] = ["https://feed.example/one.mp3", "https://feed.example/other.mp3"];
  const end = now();
  podkeep.clock.advance(DAY);
  const actions = [
    play(100, { episode_url: one, sent_at: end }),
    play(400, { started: 300, episode_url: other, guid: "g", sent_at: end + 10 * MINUTE }),
    play(900, { started: 700, episode_url: one, guid: "g", sent_at: end + 20 * MINUTE }),
  ];
  for (const parts of [[actions], actions.map((action) => [action]), [actions.slice(0, 1), actions.slice(1)]]) {
    const actor = actAsUser((await podkeep.user()).id);
    for (let n = 0; n < 2; n++) {
      for (const part of parts) await upload("phone", part, actor);
      const rows = await listened({}, actor);
      expect(rows.map(({ started, position }) => [started, position])).toEqual([
        [700, 900],
        [300, 400],
        [0, 100],
      ]);
      expect(new Set(rows.map(({ episode }) => episode)).size).toBe(1);
    }
  }
});

test("a stretch that goes on under a new name of its episode is one, though only a later play shows the name", async () => {
  const url = "https://feed.example/one.mp3";
  const end = now();
  podkeep.clock.advance(DAY);
  await upload("phone", [play(100, { episode_url: url, sent_at: end })]);
  const renamed = { started: 100, episode_url: "https://cdn.example/one.mp3", guid: "g", sent_at: end + 2 * MINUTE };
  await upload("phone", [
    play(220, renamed),
    play(900, { started: 700, episode_url: url, guid: "g", sent_at: end + 60 * MINUTE }),
  ]);
  expect((await listened()).map(({ started, position }) => [started, position])).toEqual([
    [700, 900],
    [0, 220],
  ]);
});

test("plays go with a merge and a move, stay when a podcast is unsubscribed, and go with its deletion", async () => {
  const guid = await subscribe(A);
  const other = await subscribe(B);
  const end = now();
  await upload("phone", [play(60, { feed_url: A, guid: "g", sent_at: end })]);
  await upload("tablet", [play(90, { feed_url: B, guid: "g", sent_at: end })]);
  await patchSubscription(podkeep.app, ann, other, { new_guid: guid });
  const [first, second] = await listened();
  expect([first?.episode, first?.feed_url]).toEqual([second?.episode, A]);
  expect(await listened({ episode: first?.episode ?? 0 })).toHaveLength(2);
  await patchSubscription(podkeep.app, ann, guid, { is_subscribed: false });
  expect(await listened()).toHaveLength(2);
  await patchSubscription(podkeep.app, ann, guid, { is_subscribed: true });
  await requestDeletion(podkeep.app, ann, guid);
  await podkeep.drain();
  expect(await listened()).toEqual([]);
});

test("a deletion takes the plays of its podcast, and no others", async () => {
  const guid = await subscribe(A);
  const other = play(90, { feed_url: B, episode_url: "https://b.example/1.mp3", sent_at: now() });
  await upload("phone", [play(60, { feed_url: A, sent_at: now() }), other]);
  await requestDeletion(podkeep.app, ann, guid);
  await podkeep.drain();
  expect((await listened()).map(({ position }) => position)).toEqual([90]);
  expect(await podkeep.sql(`select position from plays where user_id = '${ann.user_id}'`)).toHaveLength(1);
});

test("plays go with their user", async () => {
  const { id, name } = await podkeep.user();
  await upload("phone", [play(60, { sent_at: now() })], actAsUser(id));
  const count = () => podkeep.sql(`select count(*) as count from plays where user_id = '${id}'`);
  expect(Number((await count())[0]?.["count"])).toBe(1);
  await deleteUser(podkeep.app, name);
  expect(Number((await count())[0]?.["count"])).toBe(0);
});

test.if(ON_SQLITE)("a restored backup has its plays, with the apps that sent them", async () => {
  await upload("phone", [play(60, { sent_at: now() })]);
  const before = await listened();
  const { file } = await createBackup(podkeep.app.config, podkeep.clock);
  await upload("tablet", [play(600, { sent_at: now() })]);
  await podkeep.app.close();
  await restoreBackup(podkeep.app.config, podkeep.clock, file);
  await podkeep.open();
  expect(await listened()).toEqual(before);
  expect(before).toHaveLength(1);
});

test("plays older than PODKEEP_PLAYS_KEEP are deleted, and not taken again", async () => {
  const end = now();
  const old = play(60, { sent_at: end, episode_url: "https://feed.example/old.mp3" });
  await upload("phone", [old, play(90, { sent_at: end + 1 })]);
  podkeep.clock.advance(400 * DAY);
  await upload("phone", [play(120, { sent_at: podkeep.clock.now(), started: 90 })]);
  expect(await prunePlays(podkeep.app)).toBeGreaterThanOrEqual(2);
  expect((await listened()).map(({ position }) => position)).toEqual([120]);
  await upload("tablet", [old]);
  expect(await listened()).toHaveLength(1);
});

test("thousands of plays of a day that are older than PODKEEP_PLAYS_KEEP are deleted together", async () => {
  const end = now();
  await upload("phone", [play(60, { sent_at: end })]);
  await podkeep.sql(`insert into plays (user_id, id, episode, client, begun_at, ended_at, arrived_at, actor_kind)
    with recursive n(n) as (select 2 union all select n + 1 from n where n < 2500)
    select '${ann.user_id}', n, 1, 1, ${end}, ${end}, 1, 'token' from n`);
  podkeep.clock.advance(401 * DAY);
  expect(await prunePlays(podkeep.app)).toBeGreaterThanOrEqual(2500);
  expect(await listened()).toEqual([]);
});

test("a play that is older than PODKEEP_PLAYS_KEEP when it arrives is no row, and its position counts", async () => {
  const end = now();
  await upload("phone", [play(60, { sent_at: end - 401 * DAY })]);
  expect(await listened()).toEqual([]);
  expect(await positions(clientOf("tablet"))).toEqual([[60, 3600]]);
});

test("a clock that is years ahead for an hour loses no play that arrives in it", async () => {
  const end = now();
  const episode = (n: number) => ({ episode_url: `https://feed.example/${n}.mp3`, sent_at: end - n * MINUTE });
  await upload("phone", [play(60, episode(1))]);
  podkeep.clock.advance(5 * 365 * DAY);
  await upload("phone", [play(60, episode(2))]);
  podkeep.clock.advance(-5 * 365 * DAY);
  expect((await listened()).map(({ ended_at }) => ended_at)).toEqual([end - MINUTE, end - 2 * MINUTE]);
});

test("the list of plays comes in pages, the latest first", async () => {
  const end = now();
  const plays = Array.from({ length: 25 }, (_, n) =>
    // Some begin in one second.
    play(60, { episode_url: `https://feed.example/${n}.mp3`, sent_at: end - Math.floor(n / 3) * 1000 }),
  );
  await upload("phone", plays);
  const ids: number[] = [];
  for (let page = await listPlays(podkeep.app, ann, { limit: 10 }); ; ) {
    ids.push(...page.plays.map(({ id }) => id));
    if (!page.next) break;
    page = await listPlays(podkeep.app, ann, { after: page.next, limit: 10 });
  }
  expect(ids).toEqual((await listened()).map(({ id }) => id));
  expect(new Set(ids).size).toBe(25);
});

async function positions(client: Client) {
  const all = { since: 0, feed_url: null, aggregated: false, peek: true };
  const { pages } = await readActions(podkeep.app, ann, client, all);
  return (await Array.fromAsync(pages ?? [])).flat().map(({ position, total }) => [position, total]);
}

test("an episode that was downloaded before it was played is shown where it was played to", async () => {
  const download = { kind: "download", position: null, total: null, started: null } as const;
  await upload("phone", [play(0, { ...download, sent_at: now() }), play(60, { sent_at: now() })]);
  const [last] = await listened();
  expect(await readEpisode(podkeep.app, ann, last?.episode ?? 0)).toMatchObject({ position: 60, total: 3600 });
});

test("a position that is set counts for every app, over plays of a later time too", async () => {
  const end = now();
  await upload("phone", [play(3600, { started: 3600, sent_at: end + 5 * MINUTE, guid: "g" })]);
  const read = () => positions(clientOf("phone"));
  const [last] = await listened();
  const episode = last?.episode ?? 0;
  await setPosition(podkeep.app, ann, { episode, position: 1200 });
  expect(await read()).toEqual([[1200, 3600]]);
  await setPosition(podkeep.app, ann, { episode, position: null });
  expect(await read()).toEqual([[3600, 3600]]);
  expect((await listened({ episode })).map(({ position }) => position).sort()).toEqual([1200, 3600, 3600]);
  expect(await rejectionOf(setPosition(podkeep.app, ann, { episode, position: 3601 }))).toMatchObject({
    code: "invalid",
  });
  expect(await rejectionOf(setPosition(podkeep.app, ann, { episode: 99, position: 1 }))).toMatchObject({
    code: "not_found",
  });
});

test("positions that are set are no listening, and what is played from there is by the app that plays it", async () => {
  const end = now();
  podkeep.clock.advance(DAY);
  const kasts = identifyClient({ ...ann, device: "laptop" }, appNamed("Kasts", "gpodder"));
  await uploadActions(podkeep.app, { ...ann, device: "laptop" }, kasts, [play(600, { started: 600, sent_at: end })]);
  const [last] = await listened();
  for (const position of [900, 1200, 1800]) {
    podkeep.clock.advance(60 * MINUTE);
    await setPosition(podkeep.app, ann, { episode: last?.episode ?? 0, position });
  }
  podkeep.clock.advance(10 * MINUTE);
  const played = play(2400, { started: 1800, sent_at: podkeep.clock.now() });
  await uploadActions(podkeep.app, { ...ann, device: "unknown" }, null, [played]);
  expect((await rowsOf()).map(([by, from, to]) => [by, from, to])).toEqual([
    ["unknown", 1800, 2400],
    [null, 1800, 1800],
    [null, 1200, 1200],
    [null, 900, 900],
    ["laptop", 0, 600],
  ]);
});

test("what is listened to again from a position that was set counts, though the app began there before", async () => {
  const end = now();
  const parts = [
    play(1500, { started: 1200, sent_at: end }),
    play(1800, { started: 1200, sent_at: end + 180 * MINUTE }),
  ];
  await upload("phone", parts.slice(0, 1));
  const [last] = await listened();
  podkeep.clock.advance(10 * MINUTE);
  await setPosition(podkeep.app, ann, { episode: last?.episode ?? 0, position: 1200 });
  podkeep.clock.advance(DAY);
  for (let n = 0; n < 2; n++) await upload("phone", parts.slice(1));
  expect((await rowsOf()).map(([by, from, to]) => [by, from, to])).toEqual([
    ["phone", 1200, 1800],
    [null, 1200, 1200],
    ["phone", 1200, 1500],
  ]);
});

test("a position that is set counts over a mark as new by a device whose clock is ahead, a day after a restore too", async () => {
  const phone = identifyClient({ ...ann, device: "phone" }, appNamed("AntennaPod", "gpodder"));
  const send = (action: EpisodeAction) => uploadActions(podkeep.app, { ...ann, device: "phone" }, phone, [action]);
  const end = now();
  await send(play(600, { sent_at: end }));
  const [last] = await listened();
  // As a restore leaves it.
  await podkeep.sql(`update users set clock = ${end + DAY}`);
  await send(play(0, { kind: "new", sent_at: podkeep.clock.now() + 60 * MINUTE }));
  await setPosition(podkeep.app, ann, { episode: last?.episode ?? 0, position: 60 });
  expect(await listBegun(podkeep.app, ann, 10)).toMatchObject([{ position: 60 }]);
});

test("a position that is set gives way to what is played after it, also a day after a restore", async () => {
  const kasts = identifyClient({ ...ann, device: "laptop" }, appNamed("Kasts", "gpodder"));
  const send = (action: EpisodeAction) => uploadActions(podkeep.app, { ...ann, device: "laptop" }, kasts, [action]);
  const end = now();
  await send(play(600, { sent_at: end }));
  // As a restore leaves it.
  await podkeep.sql(`update users set clock = ${end + DAY}`);
  const [last] = await listened();
  await setPosition(podkeep.app, ann, { episode: last?.episode ?? 0, position: 60 });
  podkeep.clock.advance(60 * MINUTE);
  await send(play(900, { sent_at: podkeep.clock.now(), started: 60 }));
  expect(await positions(kasts)).toEqual([[900, 3600]]);
});
