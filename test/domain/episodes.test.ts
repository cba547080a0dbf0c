// Episode actions: identity, order, times, and simulated apps that agree on play positions.
import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  addAction,
  type EpisodeAction,
  isPublished,
  type PublishedAction,
  parseActionTime,
  publishAction,
  type StoredAction,
} from "../../src/domain/episodes.ts";
import { endOf, includesOwn, openWindow, type SyncPosition, startOf } from "../../src/domain/sync-window.ts";
import { KINDS, type Kind } from "./device-sync.ts";

const play = (position: number, more: Partial<EpisodeAction> = {}): EpisodeAction => ({
  feed: "feed",
  feed_url: "https://feed.example/rss",
  episode_url: "https://feed.example/1.mp3",
  guid: null,
  kind: "play",
  sent_at: 0,
  started: 0,
  position,
  total: 3600,
  device: null,
  ...more,
});

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

/** The rules, so that each can be broken. */
const RULES = { addAction, startOf, openWindow, includesOwn, closesPresent: true };
type Rules = typeof RULES;

class Server {
  wall = 1_000_000_000;
  clock = 0;
  stored: StoredAction[] = [];
  readonly positions = new Map<string, SyncPosition>();
  constructor(readonly rules: Rules) {}

  get(client: string, since: number) {
    const last = this.positions.get(client) ?? null;
    const start = this.rules.startOf(last, since);
    const told = (row: StoredAction) => this.rules.includesOwn(start) || row.client !== client;
    const actions = this.stored.filter((row) => row.arrived_at > start && told(row));
    const present = actions.length > 0 && this.rules.closesPresent;
    const clock = present ? Math.max(this.clock, this.wall) : this.clock || this.wall;
    const opened = this.rules.openWindow(last, since, clock);
    this.positions.set(client, { since, start: opened.start, given: opened.given });
    this.clock = opened.clock;
    return { actions: actions.map(publishAction), timestamp: opened.given };
  }

  post(client: string, actions: EpisodeAction[]): number {
    const last = this.positions.get(client);
    const after = this.clock;
    const stamp = () => {
      this.clock = Math.max(this.wall, this.clock + 1);
      return this.clock;
    };
    const told = last ? endOf(last.given) : -1;
    for (const one of actions) {
      this.stored = this.rules.addAction(this.stored, one, { now: this.wall, after, stamp, client, told });
    }
    return last?.given ?? 0;
  }
}

const url = (episode: number) => `https://feed.example/${episode}.mp3`;

class Device {
  readonly places = new Map<string, { position: number; at: number }>();
  private queue: EpisodeAction[] = [];
  private since = 0;
  constructor(
    readonly server: Server,
    readonly name: string,
    readonly kind: Kind,
    /** How wrong its clock is, in seconds. */
    readonly skew: number,
  ) {}

  play(episode: number, position: number): void {
    const sent_at = this.server.wall + this.skew * 1000;
    const hasGuids = this.kind !== "gpodder" && this.kind !== "pinepods";
    const at = this.kind === "pinepods" ? sent_at : Math.floor(sent_at / 1000) * 1000;
    this.places.set(url(episode), { position, at });
    // An app keeps the latest play of an episode until it is sent.
    this.queue = this.queue.filter((one) => one.episode_url !== url(episode));
    this.queue.push(
      play(position, { sent_at: at, episode_url: url(episode), guid: hasGuids ? `guid${episode}` : null }),
    );
  }

  /** The app is installed again under the same device id. */
  reset(): void {
    this.places.clear();
    this.queue = [];
    this.since = 0;
  }

  sync(lost: "get" | "post" | null, between: () => void): void {
    const { actions, timestamp } = this.server.get(this.name, this.since);
    if (lost === "get") return;
    for (const one of actions) this.apply(one);
    this.since = this.kind === "kasts" ? timestamp + 1 : timestamp;
    // Kasts asks again until the timestamp is within ten seconds of its clock or nothing comes.
    const late = timestamp <= Math.floor(this.server.wall / 1000) - 10;
    if (this.kind === "kasts" && actions.length > 0 && late) throw new Error("Kasts asks again");
    between();
    if (this.queue.length === 0) return;
    const given = this.server.post(this.name, this.queue);
    if (lost === "post") return;
    this.queue = [];
    // gPodder keeps the timestamp of the GET.
    if (this.kind === "antennapod") this.since = given;
    if (this.kind === "kasts") this.since = given + 1;
    if (this.kind === "nextcloud" || this.kind === "pinepods")
      this.since = Math.floor(this.server.wall / 1000) + this.skew;
  }

  private apply({ episode, timestamp, position = 0 }: PublishedAction): void {
    const at = Date.parse(`${timestamp}Z`);
    const pending = this.queue.find((one) => one.episode_url === episode);
    if (pending && this.kind !== "pinepods" && at <= pending.sent_at) return;
    // PinePods overwrites what it was about to send.
    if (this.kind === "pinepods") this.queue = this.queue.filter((one) => one !== pending);
    if (this.kind === "gpodder" && at <= (this.places.get(episode)?.at ?? -1)) return;
    this.places.set(episode, { position, at });
  }
}

const rarely = (max: number) => fc.nat(max).map((n) => n === 0);
const lost = fc.oneof(
  { weight: 8, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.constant("get" as const) },
  { weight: 1, arbitrary: fc.constant("post" as const) },
);
const step = fc.record({
  device: fc.nat(2),
  wait: fc.constantFrom(1000, 1500, 5000, 60_000, 3_600_000),
  episode: fc.option(fc.nat(2), { nil: undefined, freq: 2 }),
  lost,
  between: rarely(3),
  reset: rarely(30),
});
const world = fc.record({
  devices: fc.array(fc.record({ kind: fc.constantFrom(...KINDS), skew: fc.constantFrom(0, 0, -90, 90) }), {
    minLength: 3,
    maxLength: 3,
  }),
  steps: fc.array(step, { minLength: 3, maxLength: 40 }),
});
type World = typeof world extends fc.Arbitrary<infer T> ? T : never;

function simulate({ devices: kinds, steps }: World, rules: Rules): void {
  const server = new Server(rules);
  // gPodder compares with its own clock: with a wrong one it ignores others, or takes what is older.
  const skewOf = (kind: Kind, skew: number) => (kind === "gpodder" ? 0 : skew);
  const devices = kinds.map(({ kind, skew }, i) => new Device(server, `${kind}${i}`, kind, skewOf(kind, skew)));
  const latest = new Map<number, number>();
  let position = 0;
  const listen = (device: Device | undefined, episode: number) => {
    server.wall += 1000;
    position++;
    device?.play(episode, position);
    latest.set(episode, position);
  };
  for (const one of steps) {
    server.wall += one.wait;
    const device = devices[one.device];
    if (one.reset) device?.reset();
    if (one.episode !== undefined) listen(device, one.episode);
    else {
      device?.sync(one.lost, () => {
        if (one.between) {
          const other = devices[(one.device + 1) % 3];
          listen(other, 0);
          other?.sync(null, () => {});
        }
      });
    }
  }
  for (let round = 0; round < 5; round++) {
    for (const one of devices) {
      server.wall += 5000;
      one.sync(null, () => {});
    }
  }
  const wanted = new Map(server.stored.map((row) => [row.episode_url, row.position]));
  for (const one of devices) {
    for (const [episode, place] of wanted) {
      const shown = one.places.get(episode)?.position;
      if (shown !== place) throw new Error(`${one.name} is at ${shown} of ${episode}, the server at ${place}`);
    }
  }
  if (steps.some(({ reset }) => reset) || devices.some(({ skew, kind }) => skew !== 0 || kind === "pinepods")) return;
  for (const [episode, last] of latest) {
    if (wanted.get(url(episode)) !== last) throw new Error("The latest play was lost");
  }
}

const RUNS = Number(process.env["PODKEEP_MODEL_RUNS"] ?? 500);
const explore = (rules: Rules, parameters: fc.Parameters<[World]>) =>
  fc.check(
    fc.property(world, (one) => simulate(one, rules)),
    parameters,
  );

test("every app ends with the server's play positions, and the latest play counts", () => {
  const { failed, errorInstance, counterexample } = explore(RULES, { numRuns: RUNS });
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
  "a client that starts again is not told of its own": { includesOwn: () => false },
};

for (const [name, rules] of Object.entries(broken)) {
  test(`the simulation notices when ${name}`, () => {
    const result = explore({ ...RULES, ...rules }, { numRuns: 20_000, endOnFailure: true, seed: 1 });
    expect(result.failed).toBe(true);
  });
}
