// Listening of random users: what apps report adds up, is kept once, and moves in elsewhere as it is.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import type { EpisodeAction } from "../../../src/domain/episode-actions.ts";
import { Calendar } from "../../../src/domain/zoned-days.ts";
import { appNamed } from "../../../src/http/apps.ts";
import { readExport } from "../../../src/moving/podkeep-file.ts";
import { exportAccount } from "../../../src/services/accounts/export.ts";
import { type Actor, actAsAdmin } from "../../../src/services/actor.ts";
import { identifyClient } from "../../../src/services/devices/clients.ts";
import { uploadActions } from "../../../src/services/listening/episode-uploads.ts";
import { listBegun } from "../../../src/services/listening/listening.ts";
import { readYear, sumPlays } from "../../../src/services/listening/listening-hours.ts";
import { listPlays } from "../../../src/services/listening/play-list.ts";
import { setPosition } from "../../../src/services/listening/positions.ts";
import { moveIn } from "../../../src/services/moving-in.ts";
import { play } from "../../domain/episode-sync.ts";
import { openTestApp, type TestApp } from "../../support/app.ts";
import { PATIENCE } from "../../support/patience.ts";

setDefaultTimeout(PATIENCE);

let podkeep: TestApp;
beforeAll(async () => {
  podkeep = await openTestApp();
});
afterAll(() => podkeep.close());

/** What apps say of where a play began. */
const STARTS = {
  AntennaPod: (started: number) => started,
  gPodder: (started: number) => started,
  Kasts: (_: number, position: number) => position,
  "tauri-plugin-http": () => null,
  podium: () => 0,
};

const listening = fc.record({
  app: fc.constantFrom(...(Object.keys(STARTS) as (keyof typeof STARTS)[])),
  kind: fc.constantFrom("play" as const, "play" as const, "play" as const, "new" as const, "delete" as const),
  podcast: fc.nat(1),
  episode: fc.nat(1),
  knowsGuid: fc.boolean(),
  from: fc.nat(3000),
  length: fc.nat(900),
  speed: fc.constantFrom(1, 2),
  // None if somebody skips on.
  pause: fc.constantFrom(0, 5, 1200, 4000),
  total: fc.constantFrom(3600, 3000, null),
  /** Where somebody sets the position on the page afterwards. */
  set: fc.option(fc.integer({ min: 1, max: 3000 }), { freq: 8 }),
});

type Session = typeof listening extends fc.Arbitrary<infer T> ? T : never;

const open = async () => actAsAdmin(podkeep.app, (await podkeep.user()).name, "test");
const playsOf = async (actor: Actor) => (await listPlays(podkeep.app, actor, { limit: 1000 })).plays;

/** All that the page shows of an account's listening, without its own numbers. */
async function shown(actor: Actor) {
  const plays = (await playsOf(actor)).map(({ feed_url, episode_url, guid, ...play }) =>
    [feed_url, episode_url, guid, play.begun_at, play.ended_at, play.started, play.position, play.total].join(" "),
  );
  const begun = (await listBegun(podkeep.app, actor, 50)).map(({ episode_url, at, position, total }) =>
    [episode_url, at, position, total].join(" "),
  );
  return { plays: plays.sort(), begun: begun.sort() };
}

async function readFile(actor: Actor) {
  const tables = exportAccount(podkeep.app, actor);
  const all = await Promise.all(
    tables.map(async ({ name, parts }) => [name, (await Array.fromAsync(parts)).flat()] as const),
  );
  return readExport(JSON.stringify({ tables: Object.fromEntries(all) }));
}

test("hours are what the plays say, uploads can be repeated, and podkeep's file brings all of it", async () => {
  const world = async (sessions: Session[]) => {
    const there = await open();
    const uploads: (() => Promise<number>)[] = [];
    let at = Math.ceil(podkeep.clock.now() / 1000) * 1000;
    for (const { app, kind, podcast, episode, knowsGuid, from, length, speed, pause, total, set } of sessions) {
      at += (pause + Math.ceil(length / speed)) * 1000;
      podkeep.clock.set(at);
      const position = from + length;
      const host = `https://${podcast}.example`;
      const action: EpisodeAction = play(position, {
        feed_url: `${host}/rss`,
        episode_url: `${host}/${episode}.mp3`,
        guid: knowsGuid ? `guid ${episode}` : null,
        kind,
        started: STARTS[app](from, position),
        total,
        sent_at: at,
      });
      const actor = { ...there, device: app };
      const client = identifyClient(actor, appNamed(app, "gpodder"));
      uploads.push(() => uploadActions(podkeep.app, actor, client, [action]));
      await uploads.at(-1)?.();
      const [last] = await playsOf(there);
      if (set === null || !last) continue;
      at += 5000;
      podkeep.clock.set(at);
      await setPosition(podkeep.app, there, { episode: last.episode, position: Math.min(set, last.total ?? set) });
    }
    podkeep.clock.advance(60_000);

    const before = await shown(there);
    for (const repeat of uploads) await repeat();
    expect((await shown(there)).plays).toEqual(before.plays);

    const plays = await playsOf(there);
    const seconds = plays.reduce((sum, { started, position }) => sum + ((position ?? 0) - (started ?? 0)), 0);
    const calendar = Calendar.of("Asia/Kolkata");
    const days = new Set(plays.map(({ begun_at }) => calendar.dayOf(begun_at)));
    const byDay = await sumPlays(
      podkeep.app,
      there,
      [...days].map((day) => calendar.spanOf(day)),
    );
    expect([...byDay.values()].reduce((sum, one) => sum + one, 0)).toBe(seconds);
    let byYear = 0;
    for (const year of new Set([...days].map((day) => Number(day.slice(0, 4))))) {
      byYear += (await readYear(podkeep.app, there, calendar.monthsOf(year))).seconds;
    }
    expect(byYear).toBe(seconds);

    const here = await open();
    const file = await readFile(there);
    const wouldBe = await moveIn(podkeep.app, here, file, { dry_run: true });
    for (const stored of [wouldBe.stored, 0]) {
      expect((await moveIn(podkeep.app, here, file, { dry_run: false })).stored).toBe(stored);
      expect(await shown(here)).toEqual(await shown(there));
    }
  };
  await fc.assert(fc.asyncProperty(fc.array(listening, { maxLength: 20 }), world), {
    numRuns: Math.ceil(Number(process.env["PODKEEP_MODEL_RUNS"] ?? 100) / 3),
  });
});
