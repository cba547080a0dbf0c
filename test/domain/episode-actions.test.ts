// Episode actions: identity, order, times, and simulated apps that agree on play positions.
import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  type Arrival,
  type EpisodeAction,
  isReadable,
  parseActionTime,
  publishAction,
  type ToldAction,
} from "../../src/domain/episode-actions.ts";
import { type Episode, EpisodeSet, takingOrder } from "../../src/domain/episode-set.ts";
import { openWindow } from "../../src/domain/sync-window.ts";
import {
  examples,
  GPODDER_API,
  play,
  RULES,
  type Rules,
  Server,
  simulate,
  toldOf,
  type World,
  world,
} from "./episode-sync.ts";

const arrival = (arrived_at: number, client: number | null = null): Arrival => ({
  now: 1e12,
  clock: arrived_at - 1,
  stamp: () => arrived_at,
  client,
  toldUntil: null,
  knewUntil: 0,
  sendsAll: false,
});

let ids = 0;

/** Adds an action. @returns the episodes afterwards */
function addTo(episodes: Episode[], action: EpisodeAction, given: Arrival): Episode[] {
  const set = new EpisodeSet(episodes, () => ++ids);
  set.add({ podcast: 1, feed_url: null }, action, given);
  return set.all();
}

/** Adds actions in turn, each with the next timestamp. @returns what is stored of all */
function store(...actions: [action: EpisodeAction, more?: Partial<Arrival>][]): ToldAction[] {
  let episodes: Episode[] = [];
  for (const [index, [action, more]] of actions.entries()) {
    episodes = addTo(episodes, action, { ...arrival(index + 1), ...more });
  }
  return toldOf(episodes);
}

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

const NEXTCLOUD = { ...GPODDER_API, playsOnly: true, readsZones: true };
const GPODDER = { ...GPODDER_API, needsTotal: false, readsBarePlays: true };

test("apps are given whole seconds without a zone, no nulls, and a place for plays only", () => {
  const [stored] = store([play(42, { sent_at: 1_763_717_405_900, guid: "g" }), { now: 2e12 }]);
  expect(publishAction(stored!, GPODDER_API)).toEqual({
    podcast: "https://feed.example/rss",
    episode: "https://feed.example/1.mp3",
    guid: "g",
    action: "play",
    timestamp: "2025-11-21T09:30:05",
    started: 0,
    position: 42,
    total: 3600,
  });
  const [download] = store([play(0, { kind: "download" })]);
  expect(Object.keys(publishAction(download!, GPODDER_API))).toEqual(["podcast", "episode", "action", "timestamp"]);
});

test("apps of Nextcloud are given plays only, each with a guid, if only null, and a time with a zone", () => {
  const [stored] = store([play(42, { sent_at: 1_763_717_405_900 }), { now: 2e12 }]);
  expect(publishAction(stored!, NEXTCLOUD)).toMatchObject({ guid: null, timestamp: "2025-11-21T09:30:05+00:00" });
  for (const kind of ["download", "delete", "new"] as const) {
    const [other] = store([play(0, { kind })]);
    expect({ kind, readable: isReadable(other!, NEXTCLOUD) }).toEqual({ kind, readable: false });
    expect(isReadable(other!, GPODDER_API)).toBe(true);
  }
});

test("an action with a guid joins one that came by URL alone, and the other way round", () => {
  const byUrl = [play(1, { sent_at: 1000 })] as const;
  const joined = [play(2, { sent_at: 2000, guid: "g" })] as const;
  expect(store([...byUrl], [...joined])).toMatchObject([{ guid: "g", position: 2 }]);
  expect(store([...byUrl], [...joined], [play(3, { sent_at: 3000 })])).toMatchObject([{ guid: "g", position: 3 }]);
  const moved = play(4, { sent_at: 4000, guid: "g", episode_url: "https://cdn.example/1.mp3" });
  expect(store([...joined], [moved])).toMatchObject([{ guid: "g", position: 4, episode_url: moved.episode_url }]);
  const other = play(5, { sent_at: 5000, guid: "h" });
  expect(store([...joined], [other]).map((row) => row.position)).toEqual([2, 5]);
});

test("an episode that turns out to be one with another has the URL of what was played later, in any order", () => {
  const [early, late] = ["https://feed.example/1.mp3", "https://cdn.example/1.mp3"];
  const byUrl = play(1, { sent_at: 1000, episode_url: early });
  const joined = play(2, { sent_at: 2000, episode_url: early, guid: "g" });
  const byGuid = play(3, { sent_at: 3000, episode_url: late, guid: "g" });
  const told = [{ guid: "g", position: 3, episode_url: late }];
  expect(store([byUrl], [byGuid], [joined])).toMatchObject(told);
  expect(store([byGuid], [byUrl], [joined])).toMatchObject(told);
  const latest = play(4, { sent_at: 4000, episode_url: early });
  expect(store([byGuid], [latest], [joined])).toMatchObject([{ guid: "g", position: 4, episode_url: early }]);
});

test("an app that writes an episode's guid in place of its URL leaves the URL, and means what others know by that guid", () => {
  const known = play(2, { sent_at: 2000, guid: "g" });
  const byGuid = (position: number, guid: string | null) =>
    play(position, { sent_at: position * 1000, episode_url: "g", guid });
  for (const guid of ["g", null]) {
    const told = [{ guid: "g", position: 3, episode_url: known.episode_url }];
    expect(store([known], [byGuid(3, guid)])).toMatchObject(told);
    expect(store([byGuid(1, null)], [known], [byGuid(3, guid)])).toMatchObject(told);
    expect(store([byGuid(4, null)], [known], [byGuid(3, guid)])).toMatchObject([{ ...told[0], position: 4 }]);
  }
});

test("an upload that names a new episode, and then a stored one by the same guid, leaves one with the guid", () => {
  const stored = addTo([], play(1, { sent_at: 1000 }), arrival(1));
  const set = new EpisodeSet(stored, () => ++ids);
  const moved = play(2, { sent_at: 2000, guid: "g", episode_url: "https://cdn.example/1.mp3" });
  for (const [n, one] of [moved, play(3, { sent_at: 3000, guid: "g" })].entries()) {
    set.add({ podcast: 1, feed_url: null }, one, arrival(n + 2));
  }
  expect(toldOf(set.all())).toMatchObject([{ guid: "g", position: 3 }]);
});

test("two episodes of one URL stay two, and an app without guids means the later", () => {
  const two = store(
    [play(2, { sent_at: 2000, guid: "g" })],
    [play(5, { sent_at: 5000, guid: "h" })],
    [play(0, { sent_at: 1000, guid: "g", kind: "download" })],
    [play(6, { sent_at: 6000 })],
  );
  expect(two.map(({ guid, kind, position }) => [guid, kind, position])).toEqual([
    ["g", "play", 2],
    ["g", "download", null],
    ["h", "play", 6],
  ]);
});

test("the URL of an episode is not another one's guid, though guids can be URLs too", () => {
  for (const guid of ["http://feed.example/1.mp3", "HTTPS://feed.example/1.mp3"]) {
    const both = store(
      [play(1, { sent_at: 1000, guid, episode_url: "https://cdn.example/1.mp3" })],
      [play(2, { sent_at: 2000, episode_url: guid })],
    );
    expect(both.map(({ guid, position }) => [guid, position])).toEqual([
      [guid, 1],
      [null, 2],
    ]);
  }
});

test("an episode that one app knows by http and another by https is one", () => {
  const rows = store(
    [play(1, { sent_at: 1000 })],
    [play(2, { sent_at: 2000, episode_url: "http://feed.example/1.mp3" })],
  );
  expect(rows).toMatchObject([{ position: 2, episode_url: "http://feed.example/1.mp3" }]);
});

test("two podcasts of which one upload names an episode by one guid or file have an episode each", () => {
  for (const guid of ["1", null]) {
    const set = new EpisodeSet([], () => ++ids);
    for (const podcast of [1, 2]) set.add({ podcast, feed_url: null }, play(podcast, { guid }), arrival(podcast));
    expect(set.all().map(({ podcast, actions }) => [podcast, actions[0]?.position])).toEqual([
      [1, 1],
      [2, 2],
    ]);
  }
});

test("the kinds of an episode are kept apart, and a guid that one of them brings is known of all", () => {
  const both = store(
    [play(0, { kind: "download", position: null, sent_at: 9000 })],
    [play(2, { sent_at: 1000, guid: "g" })],
  );
  expect(both.map(({ kind, guid }) => [kind, guid])).toEqual([
    ["download", "g"],
    ["play", "g"],
  ]);
});

test("a time in the future counts as the present, so that a wrong clock can't hold a place for ever", () => {
  const later = store([play(1, { sent_at: 5e12 }), { now: 10_000 }], [play(2, { sent_at: 12_000 }), { now: 12_000 }]);
  expect(later).toMatchObject([{ position: 2 }]);
});

test("a play without a position is a mark: it keeps the position, and only gPodder's apps read it", () => {
  const rows = store([play(42, { sent_at: 1000 })], [play(0, { sent_at: 2000, total: null })]);
  expect(rows.map(({ kind, position }) => [kind, position])).toEqual([
    ["play", 42],
    ["played", null],
  ]);
  const mark = rows[1]!;
  expect([GPODDER, GPODDER_API, NEXTCLOUD].map((reader) => isReadable(mark, reader))).toEqual([true, false, false]);
  expect(publishAction(mark, GPODDER)).toEqual({
    podcast: "https://feed.example/rss",
    episode: "https://feed.example/1.mp3",
    action: "play",
    timestamp: "1970-01-01T00:00:02",
  });
});

test("a play without a total gets that of an earlier one; without any, only gPodder's apps read it", () => {
  const [known] = store([play(1, { sent_at: 1000 })], [play(2, { sent_at: 2000, total: 0 })]);
  expect(known).toMatchObject({ position: 2, total: 3600 });
  const [unknown] = store([play(2, { sent_at: 2000, total: null })]);
  expect([GPODDER, GPODDER_API, NEXTCLOUD].map((reader) => isReadable(unknown!, reader))).toEqual([true, false, false]);
  expect(publishAction(unknown!, GPODDER)).toMatchObject({ started: 0, position: 2 });
  expect(publishAction(unknown!, GPODDER)).not.toHaveProperty("total");
});

test("a start after the position is the position", () => {
  expect(store([play(60, { started: 1_795_321_846 })])).toMatchObject([{ started: 60, position: 60 }]);
});

test("what a client sends again is no change", () => {
  const first = addTo([], play(1, { sent_at: 5e12 }), { ...arrival(1, 1), now: 10_000 });
  const set = new EpisodeSet(first, () => 0);
  const { isKnown } = set.add({ podcast: 1, feed_url: null }, play(1, { sent_at: 5e12 }), {
    ...arrival(9, 1),
    now: 90_000,
  });
  expect({ isKnown, rows: set.changed(), actions: set.changedActions() }).toEqual({
    isKnown: true,
    rows: [],
    actions: [],
  });
});

test("what a client sends again gives an episode no URL back that another client has replaced", () => {
  const own = play(1, { sent_at: 1000, guid: "g" });
  const moved = play(0, { sent_at: 2000, guid: "g", kind: "download", episode_url: "https://cdn.example/1.mp3" });
  const told = store([own, { client: 1 }], [moved, { client: 2 }], [own, { client: 1 }]);
  expect(new Set(told.map(({ episode_url }) => episode_url))).toEqual(new Set([moved.episode_url]));
});

test("what a client plays later counts, even if the server's clock went back in between", () => {
  const plays: [EpisodeAction, Partial<Arrival>][] = [
    [play(1, { sent_at: 500_000 }), { client: 1, now: 500_000 }],
    [play(2, { sent_at: 510_000 }), { client: 1, now: 10_000 }],
  ];
  expect(store(...plays)).toMatchObject([{ position: 2, acted_at: 501_000 }]);
  const late = store(...plays, [play(1, { sent_at: 505_000 }), { client: 1, now: 10_000 }]);
  expect(late).toMatchObject([{ position: 2 }]);
});

test("of two places that a client reports of one second in one upload the last counts, also if it is sent again", () => {
  const both = [play(1, { sent_at: 5000 }), play(2, { sent_at: 5000 })];
  const upload = (clock: number) => both.map((one): [EpisodeAction, Partial<Arrival>] => [one, { client: 1, clock }]);
  const once = store(...upload(0));
  expect(once).toMatchObject([{ position: 2 }]);
  expect(store(...upload(0), ...upload(2))).toEqual(once);
});

test("of plays that are ahead of the server's clock, the later counts, in whichever order they come", () => {
  const plays = [500_000, 400_000].map((sent_at, n): [EpisodeAction, Partial<Arrival>] => [
    play(sent_at / 1000, { sent_at }),
    { client: n, now: 10_000 },
  ]);
  for (const order of [plays, plays.toReversed()]) expect(store(...order)).toMatchObject([{ position: 500 }]);
});

test("an app that uploads its later play first is not told it again", () => {
  const plays = [9000, 5000].map((sent_at): [EpisodeAction, Partial<Arrival>] => [
    play(sent_at / 100, { sent_at }),
    { client: 1, clock: 0 },
  ]);
  expect(store(...plays)).toMatchObject([{ position: 90, client: 1, arrived_at: 1 }]);
});

test("one place that a client reports twice of one second, or again of a time that is ahead, is told once", () => {
  const first: [EpisodeAction, Partial<Arrival>] = [play(1, { sent_at: 5000 }), { client: 1 }];
  expect(store(first, [play(1, { sent_at: 5900 }), { client: 1 }])).toEqual(store(first));
  const ahead: [EpisodeAction, Partial<Arrival>] = [play(1, { sent_at: 5e12 }), { now: 10_000 }];
  expect(store(ahead, [play(1, { sent_at: 5e12 }), { now: 90_000 }])).toEqual(store(ahead));
});

test("an old play does not replace a position that a server's clock left years ahead", () => {
  const [wall, year] = [1e12, 365 * 24 * 3_600_000];
  const before: [EpisodeAction, Partial<Arrival>] = [
    play(100, { sent_at: wall + year }),
    { client: 1, now: wall + year, wall: wall + year },
  ];
  const later = (days: number): [EpisodeAction, Partial<Arrival>] => [
    play(50, { sent_at: wall + days * 24 * 3_600_000 }),
    { client: 2, now: wall + year, wall, toldUntil: -1 },
  ];
  expect(store(before, later(0))).toMatchObject([{ position: 50 }]);
  expect(store(before, later(-2))).toMatchObject([{ position: 100 }]);
});

test("what PinePods finishes counts, if it only says again of nobody else's place that it is finished", () => {
  const pinepods = { client: 2, finishesAgain: true, toldUntil: 1_000_000, now: 1_030_000 };
  const finished = (sent_at: number) => play(3600, { sent_at, started: 0 });
  const before = (position: number, client: number, arrived: number): [EpisodeAction, Partial<Arrival>] => [
    play(position, { sent_at: 900_000 }),
    { client, stamp: () => arrived },
  ];
  const after = (place: ReturnType<typeof before>, sent_at: number, more: Partial<Arrival> = {}) =>
    store(place, [finished(sent_at), { ...pinepods, ...more }])[0]?.position;
  // Told to be in its last minute, by another app and by itself.
  expect(after(before(3550, 1, 950_000), 1_020_000)).toBe(3550);
  expect(after(before(3550, 2, 950_000), 1_020_000)).toBe(3600);
  // Another app replaced what it was told: just now, before it played, and long ago.
  expect(after(before(600, 1, 1_010_000), 1_020_000)).toBe(600);
  expect(after(before(600, 1, 1_010_000), 990_000)).toBe(3600);
  expect(after(before(600, 1, 1_010_000), 5_020_000, { now: 5_030_000 })).toBe(3600);
});

test("a client whose clock went back is told the place that it sent before", () => {
  const later = store(
    [play(1, { sent_at: 500_000 }), { client: 1, now: 500_000 }],
    [play(2, { sent_at: 10_000 }), { client: 1, now: 10_000 }],
  );
  expect(later).toMatchObject([{ position: 1, arrived_at: 2, client: null }]);
});

test("an older play of the place that an episode has changes nothing, and is told to no client", () => {
  const later: [EpisodeAction, Partial<Arrival>] = [play(50, { sent_at: 9000 }), { client: 1 }];
  for (const client of [1, 2, null]) {
    expect(store(later, [play(50, { sent_at: 5000 }), { client }])).toEqual(store(later));
  }
});

test("of two clients in one second the first counts, and is told as later than the other", () => {
  const both: [EpisodeAction, Partial<Arrival>][] = [
    [play(1, { sent_at: 5000 }), { client: 1 }],
    [play(2, { sent_at: 5900 }), { client: 2 }],
  ];
  expect(store(...both)).toMatchObject([{ position: 1, client: 1, acted_at: 6000, arrived_at: 2 }]);
  const again = store(...both, [play(2, { sent_at: 5900 }), { client: 2 }]);
  expect(again).toMatchObject([{ position: 1, acted_at: 6000 }]);
});

test("of two clients in one second, the episode keeps the URL of the first too", () => {
  const both = [1, 2].map((client): [EpisodeAction, Partial<Arrival>] => [
    play(client, { sent_at: 5000, guid: "g", episode_url: `https://feed.example/${client}.mp3` }),
    { client },
  ]);
  expect(store(...both)).toMatchObject([{ position: 1, episode_url: "https://feed.example/1.mp3" }]);
});

test("a play made after its client knew another's place counts, though its clock is ten minutes behind", () => {
  const known = { client: 2, knewUntil: 1_000_500, toldUntil: 1_000_500, now: 1_060_000 };
  const others: [EpisodeAction, Partial<Arrival>] = [
    play(100, { sent_at: 1_000_000 }),
    { client: 1, stamp: () => 1_000_000 },
  ];
  const played = store(others, [play(200, { sent_at: 460_000 }), known]);
  expect(played).toMatchObject([{ position: 200, acted_at: 1_001_000 }]);
  // What it plays on counts too.
  const on = play(300, { sent_at: 500_000 });
  expect(store(others, [play(200, { sent_at: 460_000 }), known], [on, { ...known, knewUntil: 0 }])).toMatchObject([
    { position: 300 },
  ]);
  // It was told, but may not have got it before it played.
  const unsure = store(others, [play(200, { sent_at: 460_000 }), { ...known, knewUntil: 999_000 }]);
  expect(unsure).toMatchObject([{ position: 100 }]);
});

test("a full sync that says of each played episode that it was finished now leaves stored places alone", () => {
  const now = { now: 9_000_000, client: 2, toldUntil: 1 };
  const place: [EpisodeAction, Partial<Arrival>] = [play(1200, { sent_at: 1_000_000 }), { client: 1 }];
  const finished = play(3600, { sent_at: 9_000_000, started: 3600 });
  expect(store(place, [finished, { ...now, sendsAll: true }])).toMatchObject([{ position: 1200, arrived_at: 2 }]);
  expect(store([finished, { ...now, sendsAll: true }])).toMatchObject([{ position: 3600 }]);
  expect(store(place, [finished, now])).toMatchObject([{ position: 3600 }]);
  const listened = play(3600, { sent_at: 9_000_000, started: 1200 });
  expect(store(place, [listened, { ...now, sendsAll: true }])).toMatchObject([{ position: 3600 }]);
});

test("a full sync that says of a finished episode that it was finished now leaves later listening its place", () => {
  const finished = play(3600, { sent_at: 1_000_000, started: 3600 });
  const again: [EpisodeAction, Partial<Arrival>] = [
    { ...finished, sent_at: 9_000_000 },
    { now: 9_000_000, client: 2, toldUntil: 1, sendsAll: true },
  ];
  const offline: [EpisodeAction, Partial<Arrival>] = [
    play(1200, { sent_at: 5_000_000 }),
    { now: 9_900_000, client: 1 },
  ];
  expect(store([finished, { client: 1 }], again)).toMatchObject([{ acted_at: 1_000_000, arrived_at: 1 }]);
  expect(store([finished, { client: 1 }], again, offline)).toMatchObject([{ position: 1200 }]);
});

const action = fc.record({
  url: fc.nat(3),
  guid: fc.option(fc.constant(true), { nil: undefined }),
  kind: fc.constantFrom("play" as const, "delete" as const),
});

const order = fc.infiniteStream(fc.nat(1000));

const shuffle = <One>(list: One[], keys: Iterator<number>): One[] =>
  list
    .map((one) => ({ one, key: keys.next().value as number }))
    .sort((a, b) => a.key - b.key)
    .map(({ one }) => one);

test("the order in which actions arrive changes nothing, whether they name the guid or not", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 12 }), order, (given, keys) => {
      const all = given.map(({ url, guid, kind }, index) =>
        play(index + 1, {
          episode_url: `https://feed.example/${url}`,
          guid: guid ? `guid${url}` : null,
          kind,
          sent_at: index * 1000,
        }),
      );
      const stored = (list: EpisodeAction[]) =>
        store(...list.map((one): [EpisodeAction] => [one]))
          .map(({ episode_url, guid, kind, position }) => JSON.stringify([episode_url, guid, kind, position]))
          .sort();
      expect(stored(shuffle(all, keys))).toEqual(stored(all));
    }),
  );
});

const uploaded = fc.record({
  podcast: fc.integer({ min: 1, max: 3 }),
  guid: fc.constantFrom(null, "g1", "g2"),
  // Some apps write the guid in place of the URL.
  episode_url: fc.constantFrom("https://x.example/1", "http://x.example/1", "https://x.example/2", "g1"),
  sent_at: fc.nat(9).map((n) => n * 1000),
});

/** What a podcast has once two others have become parts of it. @param rows as the database gives them */
function merged(rows: Episode[]): Episode[] {
  const copies = rows.map((row) => ({ ...row }));
  const set = new EpisodeSet(copies, () => 0);
  const others = copies.filter(({ podcast }) => podcast !== 3);
  for (const { episode } of takingOrder(others.map((episode) => ({ episode })))) {
    set.take(episode, { podcast: 3, feed_url: null });
  }
  return set.all().sort((a, b) => a.id - b.id);
}

test("after a merge, what one app called by its guid alone is the episode that others know by that guid", () => {
  const byGuid = addTo([], play(1, { sent_at: 1000, episode_url: "g" }), arrival(1));
  const both = addTo(byGuid, play(2, { sent_at: 2000, guid: "g" }), arrival(2));
  expect(toldOf(merged(both))).toMatchObject([{ guid: "g", position: 2 }]);
});

test("a merge leaves the same episodes in every order of the rows", () => {
  fc.assert(
    fc.property(fc.array(uploaded, { maxLength: 12 }), order, (given, keys) => {
      const there = new EpisodeSet([], () => ++ids);
      for (const [index, { podcast, ...more }] of given.entries()) {
        there.add({ podcast, feed_url: null }, play(index + 1, more), arrival(index + 1));
      }
      expect(merged(shuffle(there.all(), keys))).toEqual(merged(there.all()));
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
  const { failed, errorInstance, counterexample } = await explore(RULES, { numRuns: RUNS, examples });
  if (failed) throw new Error(`${errorInstance}: ${JSON.stringify(counterexample)}`);
});

const broken: Record<string, Partial<Rules>> = {
  "a GET leaves its second open": {
    openWindow: (last, since, clock, habits) => ({ ...openWindow(last, since, clock, habits), clock }),
  },
  "a GET that returns something answers an old second": { closesPresent: false },
  "actions are told by the time they were made": {
    addAction: (set, one, at) => RULES.addAction(set, one, { ...at, stamp: () => Math.min(at.stamp(), one.sent_at) }),
  },
  "the action that arrives last counts": {
    addAction: (set, one, at) => RULES.addAction(set, { ...one, sent_at: at.now }, at),
  },
  "fractions of seconds are compared": {
    addAction: (set, one, at) => {
      const precise = () => {
        for (const episode of set.all()) {
          episode.actions = episode.actions.map((row) => ({ ...row, acted_at: Math.min(row.sent_at, at.now) }));
        }
      };
      precise();
      const added = RULES.addAction(set, one, at);
      precise();
      return added;
    },
  },
  "who shows another place is not told again": {
    addAction: (set, one, at) => RULES.addAction(set, one, { ...at, toldUntil: -1 }),
  },
  "what an app received before it uploaded counts as older than that": {
    addAction: (set, one, at) => RULES.addAction(set, one, { ...at, knewUntil: Math.max(0, at.toldUntil ?? 0) }),
  },
  "a play that AntennaPod skipped for a download is not told again": { tellSkipped: () => {} },
  "what AntennaPod calls played at a full sync was played then": {
    addAction: (set, one, at) => RULES.addAction(set, one, { ...at, sendsAll: false }),
  },
  "what PinePods is told to be finished is finished there": {
    addAction: (set, one, at) => RULES.addAction(set, one, { ...at, finishesAgain: false }),
  },
  "an action without a guid is another episode": {
    addAction: (set, one, at) => RULES.addAction(set, { ...one, guid: one.guid ?? `url${one.episode_url}` }, at),
  },
  "a client that starts again does not get what it sent": {
    openWindow: (...given) => ({ ...openWindow(...given), own: false }),
  },
};

for (const [name, rules] of Object.entries(broken)) {
  test(`the simulation notices when ${name}`, async () => {
    // Of twelve seeds, one with which all of them are noticed soon.
    const result = await explore({ ...RULES, ...rules }, { numRuns: 20_000, endOnFailure: true, seed: 8 });
    expect(result.failed).toBe(true);
  });
}
