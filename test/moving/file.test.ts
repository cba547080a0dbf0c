// Databases that are made to do harm: what a process reads of them.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openForeign } from "../../src/db/sqlite/foreign.ts";
import { nothingFrom } from "../../src/domain/moving-in.ts";
import { readMovingFile } from "../../src/moving/file.ts";
import { readMoving, writeMoving } from "../../src/moving/lines.ts";
import { play } from "../domain/episode-sync.ts";
import { writeAntennaPod } from "../support/antennapod.ts";
import { settle } from "../support/rejection.ts";

const folder = mkdtempSync(join(tmpdir(), "podkeep-databases-"));
/** Bytes of a text file. */
const MOST_TEXT = 64 * 1024 * 1024;
const MOST = 2 * MOST_TEXT;

async function make(
  name: string,
  ...rest: Parameters<typeof writeAntennaPod> extends [string, ...infer Rest] ? Rest : never
) {
  writeAntennaPod(join(folder, name), ...rest);
  return Bun.file(join(folder, name)).bytes();
}

const FEED = { id: 1, url: "https://a.example/rss", title: "A" };

test("an episode that AntennaPod has as played, and whose user listens to it again, keeps its position", async () => {
  const place = { feed: 1, read: 1, position: 60_000, duration: 600_000, played_at: 1_000_000 };
  const bytes = await make("again.db", [FEED], [{ ...place, guid: "g", url: "https://a.example/1" }]);
  const { actions } = await readMovingFile(new Blob([bytes]), { most: MOST });
  expect(actions).toMatchObject([{ guid: "g", position: 60, total: 600 }]);
});

test("an episode that AntennaPod has with an empty guid has none", async () => {
  const place = { feed: 1, position: 60_000, duration: 600_000, played_at: 1_000_000 };
  const bytes = await make("empty.db", [FEED], [{ ...place, guid: "\n  ", url: "https://a.example/1" }]);
  const { actions } = await readMovingFile(new Blob([bytes]), { most: MOST });
  expect(actions).toMatchObject([{ guid: null, position: 60 }]);
});

test("of AntennaPod's episodes, times are the later of two, and stretches are as long as the episode at most", async () => {
  const length = { feed: 1, duration: 600_000, played_at: 1_000_000 };
  const episodes = [
    { ...length, read: 1, played_duration: 900_000 },
    { ...length, read: 0, played_duration: 900_000, position: 60_000 },
    { ...length, read: 1, position: 595_000 },
    { ...length, read: 1, duration: 0, position: 0 },
    { ...length, read: 1, duration: 0, position: 60_000 },
  ];
  const bytes = await make(
    "places.db",
    [FEED],
    episodes.map((one, index) => ({ ...one, guid: null, url: `https://a.example/${index}` })),
    (database) => {
      database.run("update FeedMedia set playback_completion_date = 2000000 where id = 1");
      database.run("update FeedMedia set playback_completion_date = 500000 where id = 2");
    },
  );
  const { actions } = await readMovingFile(new Blob([bytes]), { most: MOST });
  expect(
    actions.map(({ started, position, total, sent_at, heard }) => [started, position, total, sent_at, heard]),
  ).toEqual([
    [0, 600, 600, 2_000_000, 900],
    [0, 60, 600, 1_000_000, 900],
    [600, 600, 600, 1_000_000, 0],
    [0, 0, 0, 1_000_000, 0],
    [60, 60, 0, 1_000_000, 0],
  ]);
});

test("a time that no app can write costs its episode the time, and the others nothing", async () => {
  const place = { feed: 1, guid: null, read: 0, position: 60_000, duration: 600_000 };
  // A clock that was set to microseconds.
  const times = [1_000_000, 1_767_225_600_000_000, Number.MAX_SAFE_INTEGER];
  const episodes = times.map((played_at, n) => ({ ...place, played_at, url: `https://a.example/${n}` }));
  const { feeds, actions, untimed } = await readMovingFile(new Blob([await make("times.db", [FEED], episodes)]), {
    most: MOST,
  });
  expect(feeds).toMatchObject([{ feed_url: FEED.url }]);
  expect(actions).toMatchObject([{ episode_url: "https://a.example/0", position: 60 }]);
  expect(untimed).toMatchObject([{ episode_url: "https://a.example/1" }, { episode_url: "https://a.example/2" }]);
});

test("gPodder's database of a version without the time of the last playback is read, and what is new is not marked", async () => {
  const read = async (name: string, extra: string, ...episodes: string[]) => {
    const database = new Database(join(folder, name));
    database.run("create table podcast (id integer primary key, url text, title text)");
    database.run(`create table episode (podcast_id integer, url text, is_new integer, total_time integer,
      current_position integer, current_position_updated integer${extra})`);
    database.run(`insert into podcast values (1, '${FEED.url}', 'A')`);
    for (const one of episodes) database.run(`insert into episode values (1, ${one})`);
    database.close();
    const { actions, untimed } = await readMovingFile(Bun.file(join(folder, name)), { most: MOST });
    expect(untimed).toEqual([]);
    return actions.map(({ episode_url, position, sent_at }) => [episode_url, position, sent_at]);
  };
  expect(await read("old", "", "'a', 0, 600, 60, 1000", "'b', 0, 600, 0, 1000")).toEqual([["a", 60, 1_000_000]]);
  const rows = ["'a', 0, 600, 60, 1000, 2000", "'b', 0, 600, 60, 2000, 1000", "'c', 1, 600, 0, 0, 2000"];
  expect(await read("new", ", last_playback integer", ...rows)).toEqual([
    ["a", 60, 2_000_000],
    ["b", 60, 2_000_000],
  ]);
});

test("a database that would be read for hours is given up, and the process ends", async () => {
  // Every row of one table meets every row of the other, and none is a result.
  const bytes = await make("slow.db", [FEED], [], (database) => {
    for (const table of ["FeedItems", "FeedMedia"]) {
      database.run(`alter table ${table} rename to Real${table}`);
      database.run(`create table ${table} as select * from Real${table} where 0`);
    }
    database.run(`with recursive n(x) as (select 1 union all select x + 1 from n where x < 100000)
      insert into FeedItems (id, feed, read) select 1, 1, 0 from n`);
    database.run("insert into FeedMedia (feeditem, position) select 1, 0 from FeedItems");
  });
  expect(await settle(readMovingFile(new Blob([bytes]), { most: MOST, patience: 2000 }))).toThrow("made to be slow");
});

test("more text than a file can have is refused, before it is all in memory", async () => {
  // One long feed URL, which each of many episodes would repeat.
  const long = { ...FEED, url: `https://a.example/${"x".repeat(8000)}` };
  const many = Array.from({ length: 20_000 }, (_, index) => ({
    feed: 1,
    guid: null,
    url: `https://a.example/${index}`,
    position: 1000,
  }));
  const bytes = await make("long.db", [long], many);
  expect(await settle(readMovingFile(new Blob([bytes]), { most: MOST }))).toThrow("more text than");
});

test("more podcasts than anybody has are refused", async () => {
  const bytes = await make("many.db", [FEED], [], (database) => {
    database.run(`with recursive n(x) as (select 2 union all select x + 1 from n where x <= 50000)
      insert into Feeds (id, download_url) select x, 'https://a.example/' || x from n`);
  });
  expect(await settle(readMovingFile(new Blob([bytes]), { most: MOST }))).toThrow("more than 50000 podcasts");
});

test("more podcasts than a user can have here are refused, with how many that are", async () => {
  const file = new Blob([await make("two.db", [FEED, { ...FEED, id: 2, url: "https://b.example/rss" }], [])]);
  const limits = { feeds: 1, episodes: 1, devices: 1, bytes: MOST };
  expect(await settle(readMovingFile(file, { most: MOST, limits }))).toThrow("more than 1 podcasts");
});

test("a text that is larger than an export of many years is refused before it is parsed", async () => {
  const file = new Blob(["{", new Uint8Array(MOST_TEXT)]);
  expect(await settle(readMovingFile(file, { most: MOST }))).toThrow("The file is larger than 64 MB");
});

test("all that moves in arrives, and more than a user can have here, or more text, is refused", async () => {
  const devices = Array.from({ length: 104 }, (_, n) => ({ id: `${n}`, caption: "", type: "other" as const }));
  const feeds = [{ feed_url: FEED.url, title: "A", guid: null }];
  const action = play(60, { feed_url: FEED.url });
  const plays = [{ ...action, begun_at: 0 }];
  const lists = { devices, feeds, actions: [action], untimed: [action], plays };
  const moving = { ...nothingFrom("podkeep"), isOwn: true, marksStart: true, ...lists };
  const bytes = new TextEncoder().encode([...writeMoving(moving)].join(""));
  async function* lines(end = bytes.length) {
    for (let at = 0; at < end; at += 1000) yield bytes.subarray(at, Math.min(at + 1000, end));
  }
  const limits = { feeds: 1, episodes: 3, devices: 104, bytes: bytes.length };
  expect(await readMoving(lines(), limits)).toEqual(moving);
  expect(await settle(readMoving(lines(), { ...limits, devices: 103 }))).toThrow("more than 103 devices");
  expect(await settle(readMoving(lines(), { ...limits, feeds: 0 }))).toThrow("more than 0 podcasts");
  expect(await settle(readMoving(lines(), { ...limits, episodes: 2 }))).toThrow("more than 2 positions");
  expect(await settle(readMoving(lines(), { ...limits, bytes: bytes.length - 1 }))).toThrow("of text");
  expect(await settle(readMoving(lines(bytes.length - 1), limits))).toThrow("upload the file again");
});

test("a line that takes long to parse is not parsed", async () => {
  const feeds = [{ feed_url: FEED.url, title: "x".repeat(256 * 1024), guid: null }];
  const text = [...writeMoving({ ...nothingFrom("podkeep"), feeds })].join("");
  const limits = { feeds: 1, episodes: 1, devices: 1, bytes: text.length };
  expect(await settle(readMoving(new Blob([text]).stream(), limits))).toThrow("upload the file again");
  async function* withoutEnd() {
    yield new TextEncoder().encode(text.slice(0, -1));
    throw new Error("More was read");
  }
  expect(await settle(readMoving(withoutEnd(), limits))).toThrow("upload the file again");
});

test("a client that is gone ends the process", async () => {
  const bytes = await make("gone.db", [FEED], []);
  expect(await settle(readMovingFile(new Blob([bytes]), { most: MOST, signal: AbortSignal.abort() }))).toThrow();
});

test("a database's own checks are not run: they could fill the memory", async () => {
  const bytes = await make("checks.db", [FEED], [], (database) => {
    database.run("create table Extra (id integer check (0))");
    database.run("pragma ignore_check_constraints = on");
    database.run("insert into Extra values (1)");
  });
  const { feeds } = await readMovingFile(new Blob([bytes]), { most: MOST });
  expect(feeds).toMatchObject([{ feed_url: FEED.url }]);
});

test("a database with columns that are computed is refused: they could fill the memory", async () => {
  const bytes = await make("computed.db", [FEED], [], (database) => {
    database.run("alter table Feeds add column bomb text as (hex(zeroblob(1000)))");
  });
  expect(await settle(readMovingFile(new Blob([bytes]), { most: MOST }))).toThrow("columns that are computed");
});

test("what is longer than any text is not read: a column that was added has it once, and each row gives it", async () => {
  const bytes = await make("default.db", [FEED], [], (database) => {
    database.run(`alter table Feeds add column bomb text default '${"x".repeat(1_000_000)}'`);
  });
  const rows = openForeign(bytes).rows("select Feeds.bomb as bomb, Feeds.download_url as url from Feeds");
  expect([...rows]).toEqual([{ bomb: null, url: FEED.url }]);
});

test("JSON of far more values than an export has is refused before it is parsed", async () => {
  const bytes = Buffer.from(`{"tables":{"subscriptions":[${"[],".repeat(1_000_000)}[]]}}`);
  expect(await settle(readMovingFile(new Blob([bytes]), { most: MOST }))).toThrow("more values than");
});
