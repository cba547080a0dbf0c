// Episode actions: identity, order, times, and simulated apps that agree on play positions.
import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  addAction,
  type EpisodeAction,
  isPublished,
  parseActionTime,
  publishAction,
  type StoredAction,
} from "../../src/domain/episodes.ts";
import { openWindow } from "../../src/domain/sync-window.ts";
import { play, RULES, type Rules, Server, simulate, type World, world } from "./episode-sync.ts";

const arrival = (arrived_at: number, client: string | null = null) => ({
  now: 1e12,
  after: arrived_at - 1,
  stamp: () => arrived_at,
  client,
  told: null,
});

test("times are read with and without zone, fraction and seconds, in any of the forms that apps send", () => {
  const expected = Date.UTC(2026, 10, 21, 9, 30, 5);
  for (const text of [
    "2026-11-21T09:30:05",
    "2026-11-21T09:30:05Z",
    "2026-11-21t09:30:05z",
    "2026-11-21 09:30:05",
    "2026-11-21T09:30:05.000000+00:00",
    "2026-11-21T10:30:05+01:00",
    "2026-11-21T10:30:05+0100",
    "2026-11-21T04:00:05-05:30",
    " 2026-11-21T11:30:05+02 ",
  ]) {
    expect({ text, time: parseActionTime(text) }).toEqual({ text, time: expected });
  }
  expect(parseActionTime("2026-11-21T09:30:05.5Z")).toBe(expected + 500);
  expect(parseActionTime("2026-11-21T09:30")).toBe(expected - 5000);
  for (const text of ["", "yesterday", "2026-02-30T00:00:00", "2026-11-21", "2026-11-21T24:30:00", "1763717405"]) {
    expect({ text, time: parseActionTime(text) }).toEqual({ text, time: null });
  }
});

test("apps are given whole seconds without a zone, no nulls, and a place for plays only", () => {
  const [stored] = addAction([], play(42, { sent_at: 1_763_717_405_900, guid: "g" }), { ...arrival(1), now: 2e12 });
  expect(publishAction(stored!)).toEqual({
    podcast: "https://feed.example/rss",
    episode: "https://feed.example/1.mp3",
    guid: "g",
    action: "play",
    timestamp: "2025-11-21T09:30:05",
    started: 0,
    position: 42,
    total: 3600,
  });
  const download = { ...stored!, kind: "download" as const, guid: null, started: null, position: null, total: null };
  expect(Object.keys(publishAction(download))).toEqual(["podcast", "episode", "action", "timestamp"]);
});

test("an action with a guid joins one that came by URL alone, and the other way round", () => {
  const byUrl = addAction([], play(1, { sent_at: 1000 }), arrival(1));
  const joined = addAction(byUrl, play(2, { sent_at: 2000, guid: "g" }), arrival(2));
  expect(joined).toMatchObject([{ guid: "g", position: 2 }]);
  expect(addAction(joined, play(3, { sent_at: 3000 }), arrival(3))).toMatchObject([{ guid: "g", position: 3 }]);
  const moved = play(4, { sent_at: 4000, guid: "g", episode_url: "https://cdn.example/1.mp3" });
  expect(addAction(joined, moved, arrival(4))).toMatchObject([{ guid: "g", position: 4 }]);
  const other = play(5, { sent_at: 5000, guid: "h" });
  expect(addAction(joined, other, arrival(5)).map((row) => row.position)).toEqual([2, 5]);
});

test("the kinds of an episode are kept apart, and a guid that one of them brings is known of all", () => {
  const download = addAction([], play(0, { kind: "download", position: null, sent_at: 9000 }), arrival(1));
  const both = addAction(download, play(2, { sent_at: 1000, guid: "g" }), arrival(2));
  expect(both.map(({ kind, guid }) => [kind, guid])).toEqual([
    ["download", "g"],
    ["play", "g"],
  ]);
});

test("a time in the future counts as the present, so that a wrong clock can't hold a place for ever", () => {
  const future = addAction([], play(1, { sent_at: 5e12 }), { ...arrival(1), now: 10_000 });
  const later = addAction(future, play(2, { sent_at: 12_000 }), { ...arrival(2), now: 12_000 });
  expect(later).toMatchObject([{ position: 2 }]);
});

test("a play without a place is not for apps", () => {
  expect([play(1), play(0), play(1, { total: null }), play(0, { kind: "new" })].map(isPublished)).toEqual([
    true,
    false,
    false,
    true,
  ]);
});

test("what a client sends again is no change", () => {
  const first = addAction([], play(1, { sent_at: 5e12 }), { ...arrival(1, "a"), now: 10_000 });
  expect(addAction(first, play(1, { sent_at: 5e12 }), { ...arrival(9, "a"), now: 90_000 })).toEqual(first);
});

test("what a client plays later counts, even if the server's clock went back in between", () => {
  const first = addAction([], play(1, { sent_at: 500_000 }), { ...arrival(1, "a"), now: 500_000 });
  const later = addAction(first, play(2, { sent_at: 510_000 }), { ...arrival(2, "a"), now: 10_000 });
  expect(later).toMatchObject([{ position: 2, acted_at: 501_000 }]);
  const late = addAction(later, play(1, { sent_at: 505_000 }), { ...arrival(3, "a"), now: 10_000 });
  expect(late).toMatchObject([{ position: 2 }]);
});

test("a client whose clock went back is told the place that it sent before", () => {
  const first = addAction([], play(1, { sent_at: 500_000 }), { ...arrival(1, "a"), now: 500_000 });
  const later = addAction(first, play(2, { sent_at: 10_000 }), { ...arrival(2, "a"), now: 10_000 });
  expect(later).toMatchObject([{ position: 1, arrived_at: 2, client: null }]);
});

test("of two clients in one second the first counts, and is told as later than the other", () => {
  const first = addAction([], play(1, { sent_at: 5000 }), arrival(1, "a"));
  const both = addAction(first, play(2, { sent_at: 5900 }), arrival(2, "b"));
  expect(both).toMatchObject([{ position: 1, client: "a", acted_at: 6000, arrived_at: 2 }]);
  expect(addAction(both, play(2, { sent_at: 5900 }), arrival(3, "b"))).toMatchObject([{ position: 1, acted_at: 6000 }]);
});

const action = fc.record({
  url: fc.nat(3),
  guid: fc.option(fc.constant(true), { nil: undefined }),
  kind: fc.constantFrom("play" as const, "delete" as const),
});

test("the order in which actions arrive changes nothing, whether they name the guid or not", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 12 }), fc.infiniteStream(fc.nat(1000)), (given, order) => {
      const all = given.map(({ url, guid, kind }, index) =>
        play(index + 1, {
          episode_url: `https://feed.example/${url}`,
          guid: guid ? `guid${url}` : null,
          kind,
          sent_at: index * 1000,
        }),
      );
      const shuffled = all
        .map((one) => ({ one, key: order.next().value as number }))
        .sort((a, b) => a.key - b.key)
        .map(({ one }) => one);
      const store = (list: EpisodeAction[]) =>
        list
          .reduce<StoredAction[]>((stored, one, index) => addAction(stored, one, arrival(index + 1)), [])
          .map(({ episode_url, guid, kind, position }) => JSON.stringify([episode_url, guid, kind, position]))
          .sort();
      expect(store(shuffled)).toEqual(store(all));
    }),
  );
});

const RUNS = Number(process.env["PODKEEP_MODEL_RUNS"] ?? 500);
const explore = (rules: Rules, parameters: fc.Parameters<[World]>) =>
  fc.check(
    fc.asyncProperty(world, (one) => simulate(one, new Server(rules))),
    parameters,
  );

test("every app ends with the server's play positions, and the latest play counts", async () => {
  const { failed, errorInstance, counterexample } = await explore(RULES, { numRuns: RUNS });
  if (failed) throw new Error(`${errorInstance}: ${JSON.stringify(counterexample)}`);
});

const broken: Record<string, Partial<Rules>> = {
  "a GET leaves its second open": {
    openWindow: (last, since, clock) => ({ ...openWindow(last, since, clock), clock }),
  },
  "a GET that returns something answers an old second": { closesPresent: false },
  "actions are told by the time they were made": {
    addAction: (stored, one, at) => addAction(stored, one, { ...at, stamp: () => Math.min(at.stamp(), one.sent_at) }),
  },
  "the action that arrives last counts": {
    addAction: (stored, one, at) => addAction(stored, { ...one, sent_at: at.now }, at),
  },
  "fractions of seconds are compared": {
    addAction: (stored, one, at) => {
      const precise = (row: StoredAction) => ({ ...row, acted_at: Math.min(row.sent_at, at.now) });
      return addAction(stored.map(precise), one, at).map(precise);
    },
  },
  "who shows another place is not told again": {
    addAction: (stored, one, at) => addAction(stored, one, { ...at, told: -1 }),
  },
  "an action without a guid is another episode": {
    addAction: (stored, one, at) => addAction(stored, { ...one, guid: one.guid ?? `url${one.episode_url}` }, at),
  },
  "a client that starts again is not told of its own": {
    openWindow: (...given) => ({ ...openWindow(...given), own: false }),
  },
};

for (const [name, rules] of Object.entries(broken)) {
  test(`the simulation notices when ${name}`, async () => {
    const result = await explore({ ...RULES, ...rules }, { numRuns: 20_000, endOnFailure: true, seed: 1 });
    expect(result.failed).toBe(true);
  });
}
