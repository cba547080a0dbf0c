// 50,000 plays: each page reads a bounded part of them, in a bounded number of statements.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { Calendar } from "../../../src/domain/zoned-days.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import type { Context } from "../../../src/services/context.ts";
import { listBegun } from "../../../src/services/listening/listening.ts";
import { readYear, sumPlays } from "../../../src/services/listening/listening-hours.ts";
import { listEpisodePlays, listPlayers, listPlays } from "../../../src/services/listening/play-list.ts";
import { openTestApp, type TestApp } from "../../support/app.ts";
import { countReads } from "../../support/count-reads.ts";
import { PATIENCE } from "../../support/patience.ts";

setDefaultTimeout(PATIENCE);

const PLAYS = 50_000;
const HOUR = 3_600_000;

let podkeep: TestApp;
let user_id: number;

beforeAll(async () => {
  podkeep = await openTestApp();
  ({ id: user_id } = await podkeep.user("ann"));
  const many = (into: string, values: string) =>
    podkeep.sql(`insert into ${into} with recursive n(n) as (select cast(1 as bigint) union all select n + 1 from n where n < ${PLAYS})
      select ${values} from n`);
  const url = "'https://a.example/' || n || '.mp3'";
  await many(
    "episodes (user_id, id, podcast, feed_url, url)",
    `'${user_id}', n, -1 - n % 200, 'https://a.example/', ${url}`,
  );
  await many(
    "episode_actions (user_id, episode, kind, sent_at, acted_at, arrived_at, started, position, total)",
    `'${user_id}', n, 'play', n, n, n, 0, 60, 600`,
  );
  await many(
    "plays (user_id, id, episode, client, begun_at, ended_at, started, position, arrived_at, actor_kind, actor_label)",
    `'${user_id}', n, n, 1, n * ${HOUR}, n * ${HOUR} + 60000, 0, 60, n, 'token', 'app' || (n % 3)`,
  );
});
afterAll(() => podkeep.close());

const count = (work: (context: Context) => Promise<unknown>) => countReads<Context>(podkeep.app, work);

const actor = () => actAsUser(user_id);

// Pieces of a bulk statement differ between the engines.
test.each<[string, number, number, (context: Context) => Promise<unknown>]>([
  ["continue", 6, 150, (context) => listBegun(context, actor(), 50)],
  ["a page of the history", 1, 101, (context) => listPlays(context, actor(), { limit: 100 })],
  ["a page of one podcast", 11, 106, (context) => listPlays(context, actor(), { limit: 100, podcast: -8 })],
  ["a page of one app", 3, 103, (context) => listPlays(context, actor(), { limit: 100, by: "app1" })],
  ["a page of an app that played nothing", 11, 6, (context) => listPlays(context, actor(), { limit: 100, by: "no" })],
  ["a search", 33, 4017, (context) => listPlays(context, actor(), { limit: 100, search: "nothing" })],
  ["a search that finds much", 7, 353, (context) => listPlays(context, actor(), { limit: 100, search: "mp3" })],
  ["an episode", 3, 4, (context) => listEpisodePlays(context, actor(), { episode: 7, limit: 100 })],
  ["the apps", 2, 10, (context) => listPlayers(context, actor())],
  ["the hours of days", 4, 24, (context) => sumPlays(context, actor(), Calendar.of("UTC").monthsOf(1972))],
  ["the hours of a year", 16, 2700, (context) => readYear(context, actor(), Calendar.of("UTC").monthsOf(1972))],
])("of 50,000 plays, %s takes at most %d statements and %d rows", async (_, statements, rows, work) => {
  const read = await count(work);
  expect(read.rows).toBeGreaterThan(0);
  expect(read.rows).toBeLessThanOrEqual(rows);
  expect(read.statements).toBeLessThanOrEqual(statements);
});

test("hours of a year in which 50,000 plays began as a month did are summed in pieces, each play once, in that month", async () => {
  const other = (await podkeep.user()).id;
  const february = Date.UTC(1970, 1);
  await podkeep.sql(`insert into episodes (user_id, id, podcast, feed_url, url)
    values ('${other}', 1, -1, 'https://a.example/', 'https://a.example/1.mp3')`);
  await podkeep.sql(`insert into plays (user_id, id, episode, client, begun_at, ended_at, started, position, arrived_at, actor_kind)
    with recursive n(n) as (select cast(1 as bigint) union all select n + 1 from n where n < ${PLAYS})
    select '${other}', n, 1, 1, ${february}, ${february}, 0, 60, n, 'token' from n`);
  const months = Calendar.of("UTC").monthsOf(1970);
  const read = await count((context) => readYear(context, actAsUser(other), months));
  // Of 10,000 plays or fewer.
  expect(read.statements).toBeGreaterThan(PLAYS / 10_000 + months.length);
  const year = await readYear(podkeep.app, actAsUser(other), months);
  expect([year.seconds, year.months[1], year.podcasts.length]).toEqual([PLAYS * 60, PLAYS * 60, 1]);
});

test("a search that finds little can go on to the end, a bounded part at a time", async () => {
  const found: number[] = [];
  let pages = 0;
  let after: Awaited<ReturnType<typeof listPlays>>["next"] | undefined;
  do {
    const page = await listPlays(podkeep.app, actor(), { limit: 10, search: "/777.mp3", ...(after && { after }) });
    found.push(...page.plays.map(({ id }) => id));
    after = page.next;
    pages++;
  } while (after);
  expect(found).toEqual([777]);
  expect(pages).toBe(13);
});

test("a search finds a podcast and an app's plays alone, the latest first", async () => {
  const found = await listPlays(podkeep.app, actor(), { limit: 3, search: "A.EXAMPLE mp3", podcast: -8, by: "app2" });
  expect(found.plays.map(({ id }) => id)).toEqual([49607, 49007, 48407]);
  expect(found.next).toMatchObject({ id: 48407 });
});

/** Adds episodes of another user, with an action each, in the order of their arrival. */
async function addEpisodes(user: number, first: number, count: number, acted_at: string, position: number) {
  const insert = (into: string, values: string) =>
    podkeep.sql(`insert into ${into} with recursive n(n) as
      (select cast(${first} as bigint) union all select n + 1 from n where n < ${first + count - 1})
      select ${values} from n`);
  const url = "'https://a.example/' || n || '.mp3'";
  await insert("episodes (user_id, id, podcast, feed_url, url)", `'${user}', n, -1, 'https://a.example/', ${url}`);
  await insert(
    "episode_actions (user_id, episode, kind, sent_at, acted_at, arrived_at, started, position, total)",
    `'${user}', n, 'play', n, ${acted_at}, n, 0, ${position}, 600`,
  );
}

test("what was listened to last is first, even if many positions without a time arrived after it", async () => {
  const other = (await podkeep.user()).id;
  await addEpisodes(other, 1, 10, "n", 60);
  await addEpisodes(other, 11, 4490, "0", 60);
  const begun = await listBegun(podkeep.app, actAsUser(other), 12);
  expect(begun.map(({ episode }) => episode)).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 4500, 4499]);
});

test("what is begun is found behind any number of finished episodes that arrived after it", async () => {
  const other = (await podkeep.user()).id;
  await addEpisodes(other, 1, 2, "n", 60);
  await addEpisodes(other, 3, 12_000, "n", 600);
  await addEpisodes(other, 12_003, 1, "n", 60);
  const begun = await listBegun(podkeep.app, actAsUser(other), 50);
  expect(begun.map(({ episode }) => episode)).toEqual([12_003, 2, 1]);
  const third = (await podkeep.user()).id;
  await addEpisodes(third, 1, 1, "n", 60);
  await addEpisodes(third, 2, 999, "n", 600);
  expect((await listBegun(podkeep.app, actAsUser(third), 50)).map(({ episode }) => episode)).toEqual([1]);
});

test("plays that all began in one moment come once each, by episode, with a filter and in a search too", async () => {
  const other = (await podkeep.user()).id;
  await podkeep.sql(`insert into episodes (user_id, id, podcast, feed_url, url)
    values ('${other}', 1, -1, 'https://a.example/', 'https://a.example/1.mp3')`);
  await podkeep.sql(`insert into plays (user_id, id, episode, client, begun_at, ended_at, arrived_at, actor_kind, actor_label)
    with recursive n(n) as (select 1 union all select n + 1 from n where n < 4500)
    select '${other}', n, 1, 1, 5, 5, n, 'token', case when n % 100 = 1 then 'rare' else 'app' end from n`);
  type Page = Awaited<ReturnType<typeof listPlays>>;
  const all = async (list: (after: Page["next"]) => Promise<Page>) => {
    const ids: number[] = [];
    let after: Page["next"] = null;
    do {
      const page: Page = await list(after);
      ids.push(...page.plays.map(({ id }) => id));
      after = page.next;
    } while (after);
    return ids;
  };
  const ids = Array.from({ length: 4500 }, (_, n) => 4500 - n);
  const actor = actAsUser(other);
  const list = (by: string, search: string) => (after: Page["next"]) =>
    listPlays(podkeep.app, actor, { limit: 1000, by, search, ...(after && { after }) });
  expect(await all(list("", ""))).toEqual(ids);
  expect(await all(list("app", ""))).toEqual(ids.filter((id) => id % 100 !== 1));
  expect(await all(list("rare", ""))).toEqual(ids.filter((id) => id % 100 === 1));
  expect(await all(list("", "1.mp3"))).toEqual(ids);
  const ofEpisode = (after: Page["next"]) =>
    listEpisodePlays(podkeep.app, actor, { episode: 1, limit: 1000, ...(after && { after }) });
  expect(await all(ofEpisode)).toEqual(ids);
});

test("hours of a year name the podcast with the most first", async () => {
  const other = (await podkeep.user()).id;
  await podkeep.sql(`insert into episodes (user_id, id, podcast, feed_url, url)
    values ('${other}', 1, -1, 'https://a.example/', 'https://a.example/1.mp3'),
      ('${other}', 2, -2, 'https://b.example/', 'https://b.example/1.mp3')`);
  await podkeep.sql(`insert into plays (user_id, id, episode, client, begun_at, ended_at, started, position, arrived_at, actor_kind)
    values ('${other}', 1, 1, 1, 0, 1, 0, 60, 1, 'token'), ('${other}', 2, 2, 1, 0, 1, 0, 90, 2, 'token')`);
  const { podcasts } = await readYear(podkeep.app, actAsUser(other), Calendar.of("UTC").monthsOf(1970));
  expect(podcasts.map(({ podcast, seconds }) => [podcast, seconds])).toEqual([
    [-2, 90],
    [-1, 60],
  ]);
});

test("an app that is new is offered, however much others played before; a podcast without hours has none", async () => {
  const other = (await podkeep.user()).id;
  await podkeep.sql(`insert into episodes (user_id, id, podcast, feed_url, url)
    values ('${other}', 1, -1, 'https://a.example/', 'https://a.example/1.mp3')`);
  await podkeep.sql(`insert into plays (user_id, id, episode, client, begun_at, ended_at, started, position, arrived_at, actor_kind, actor_label)
    with recursive n(n) as (select 1 union all select n + 1 from n where n < 1500)
    select '${other}', n, 1, 1, n, n, 60, 60, n, 'token', case when n > 1400 then 'new' else 'old' end from n`);
  const players = await listPlayers(podkeep.app, actAsUser(other));
  expect(players.map(({ label }) => label).sort()).toEqual(["new", "old"]);
  const year = await readYear(podkeep.app, actAsUser(other), Calendar.of("UTC").monthsOf(1970));
  expect([year.seconds, year.podcasts]).toEqual([0, []]);
});

test("what is begun says which app played it last, though it was played before in the same moment as another episode", async () => {
  const other = (await podkeep.user()).id;
  await addEpisodes(other, 1, 2, "n", 60);
  await podkeep.sql(`insert into plays (user_id, id, episode, client, begun_at, ended_at, arrived_at, actor_kind, actor_label)
    values ('${other}', 1, 1, 1, 0, 1, 1, 'token', 'phone'), ('${other}', 2, 2, 2, 0, 0, 2, 'token', 'tablet'),
      ('${other}', 3, 2, 3, 1, 2, 3, 'token', 'laptop')`);
  const begun = await listBegun(podkeep.app, actAsUser(other), 50);
  expect(begun.map(({ episode, by }) => [episode, by.label])).toEqual([
    [2, "laptop"],
    [1, "phone"],
  ]);
});
