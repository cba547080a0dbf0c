// Databases that are made to do harm: what a process reads of them.
import { expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openForeign } from "../../src/db/sqlite/foreign.ts";
import { nothingFrom } from "../../src/domain/moving-in.ts";
import { readMovingFile } from "../../src/moving/file.ts";
import { readMoving, writeMoving } from "../../src/moving/lines.ts";
import { writeAntennaPod } from "../support/antennapod.ts";
import { settle } from "../support/rejection.ts";

const folder = mkdtempSync(join(tmpdir(), "podkeep-databases-"));
const MOST = 64 * 1024 * 1024;

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

test("more devices than a user can have here, or more text, are refused", async () => {
  const devices = Array.from({ length: 4 }, (_, n) => ({ id: `${n}`, caption: "", type: "other" as const }));
  const bytes = new TextEncoder().encode([...writeMoving({ ...nothingFrom("podkeep"), devices })].join(""));
  const lines = () => new Blob([bytes]).stream();
  const limits = { feeds: 1, episodes: 1, devices: 4, bytes: bytes.length };
  expect((await readMoving(lines(), limits)).devices).toEqual(devices);
  expect(await settle(readMoving(lines(), { ...limits, devices: 3 }))).toThrow("more than 3 devices");
  expect(await settle(readMoving(lines(), { ...limits, bytes: bytes.length - 1 }))).toThrow("of text");
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
