// What is read a page at a time: the same as from one statement, wherever a page ends.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Tx } from "../../src/db/statement.ts";
import { actAsUser } from "../../src/services/actor.ts";
import { countFeeds } from "../../src/services/devices/device-list.ts";
import { readActions } from "../../src/services/listening/episode-actions.ts";
import { deleteEpisodesOf } from "../../src/services/listening/episode-moves.ts";
import { listEpisodePlays, listPlays, type PlayPosition, streamPlays } from "../../src/services/listening/play-list.ts";
import { type ChangePosition, listChanges } from "../../src/services/subscriptions/change-feed.ts";
import { listAddedBy, listHistory } from "../../src/services/subscriptions/history.ts";
import { listMassRemovals } from "../../src/services/subscriptions/noticed-removals.ts";
import { transact } from "../../src/services/transact.ts";
import { listLeft } from "../../src/store/feeds.ts";
import { listToResend } from "../../src/store/holdings.ts";
import { PAGE } from "../../src/store/rows.ts";
import { openTestApp, type TestApp } from "../support/app.ts";
import { countReads } from "../support/count-reads.ts";
import { PATIENCE } from "../support/patience.ts";

setDefaultTimeout(PATIENCE);

let podkeep: TestApp;
beforeAll(async () => {
  podkeep = await openTestApp();
});
afterAll(() => podkeep.close());

/** Inserts one row for each number from 1. */
const insertMany = (count: number, into: string, values: string) =>
  podkeep.sql(`insert into ${into} with recursive n(n) as (select 1 union all select n + 1 from n where n < ${count})
    select ${values} from n`);

const SUBSCRIPTION = "user_id, id, feed_url, guid, is_subscribed, subscription_changed, changed_at, deleted";

/** A user with podcasts of which a third is unsubscribed, and a fifth deleted. */
async function userWith(podcasts: number): Promise<number> {
  const { id } = await podkeep.user();
  await insertMany(
    podcasts,
    `subscriptions (${SUBSCRIPTION})`,
    `${id}, n, 'https://a.example/' || n, 'guid' || n, case when n % 3 = 0 then 0 else 1 end, n, n,
      case when n % 5 = 0 then n end`,
  );
  return id;
}

test.each([PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 2 * PAGE + 1])(
  "of %d podcasts, the subscribed ones are counted",
  async (count) => {
    const user_id = await userWith(count);
    const subscribed = Array.from({ length: count }, (_, n) => n + 1).filter((n) => n % 3 !== 0 && n % 5 !== 0);
    expect(await countFeeds(podkeep.app, actAsUser(user_id))).toBe(subscribed.length);
  },
);

/** Runs statements, and says how many rows the one with the most had. */
const readCounting = <T>(run: (tx: Tx) => Promise<T>) =>
  podkeep.app.database.read(async ({ kysely, execute }) => {
    let most = 0;
    const counting: Tx["execute"] = async (query) => {
      const rows = await execute(query);
      most = Math.max(most, rows.length);
      return rows;
    };
    return { result: await run({ kysely, execute: counting }), most };
  });

const CLIENT = "client";

// Two of each time: what one change leaves, and an upload reports, may have one timestamp.
test.each([PAGE - 1, PAGE, PAGE + 1, 2 * PAGE + 1])(
  "%d former URLs and podcasts that a device has to receive again are read once each, a page at a time",
  async (count) => {
    const user_id = await userWith(1);
    const time = "n / 2 + 10";
    await insertMany(
      count,
      "feeds (user_id, feed, subscription, left_url, left_at)",
      `${user_id}, 'feed' || n, 1, 'https://b.example/' || n, ${time}`,
    );
    await insertMany(1, "clients (user_id, id, seen_at, began)", `${user_id}, '${CLIENT}', 0, 0`);
    await insertMany(
      count,
      "holdings (user_id, client, feed, feed_url, resend_at)",
      `${user_id}, '${CLIENT}', 'feed' || n, 'https://b.example/' || n, ${time}`,
    );
    const feeds = Array.from({ length: count }, (_, n) => `feed${n + 1}`);
    // The first one is not later.
    const later = feeds.slice(1).sort();
    const left = await readCounting((tx) => listLeft(tx, { user_id, start: 10 }));
    const resent = await readCounting((tx) => listToResend(tx, { user_id, client: CLIENT, start: 10 }));
    for (const { result, most } of [left, resent]) {
      expect(result.map(({ feed }) => feed).sort()).toEqual(later);
      expect(most).toBeLessThanOrEqual(PAGE);
    }
  },
);

/** Guids of a user's podcast that others replaced, from 0. */
const retire = (user_id: number, podcast: number, guids: number) =>
  insertMany(
    guids,
    "guids (user_id, guid, subscription, retired_at)",
    `${user_id}, 'old${podcast}-' || n, ${podcast}, n`,
  );

test("a page of the change feed has the same items by its number as in one long page, also if guids were replaced", async () => {
  const user_id = await userWith(2 * PAGE + 50);
  const replaced = [1, 2, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 2 * PAGE + 50];
  for (const [n, podcast] of replaced.entries()) await retire(user_id, podcast, n % 2 === 0 ? 3 : PAGE + 2);
  await podkeep.sql(`update subscriptions set guid_changed = 1 where user_id = ${user_id} and id in (${replaced})`);
  await podkeep.sql(`update users set clock = 10000 where id = ${user_id}`);
  const read = async (page: number, per_page: number) => {
    const query = { since: null, page, per_page, after: null };
    const { items, total, next } = await listChanges(podkeep.app, actAsUser(user_id), query);
    return { places: items.map(({ row, guid }) => `${row.changed_at} ${guid}`), total, next: next !== null };
  };
  const { places: all, total } = await read(1, 5000);
  const current = 2 * PAGE + 50 - replaced.length;
  expect(all).toHaveLength(current + 4 * 3 + 3 * (PAGE + 2));
  expect(total).toBe(all.length);
  expect(new Set(all).size).toBe(all.length);
  for (const per_page of [PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 37])
    for (let page = 1; page <= Math.ceil(all.length / per_page) + 1; page++) {
      const end = page * per_page;
      const expected = { places: all.slice(end - per_page, end), total: all.length, next: end < all.length };
      expect({ page, ...(await read(page, per_page)) }).toEqual({ page, ...expected });
    }
});

/** Changes of which pairs have one timestamp: the newest comes last, and every third is by "phone". */
const CHANGE = "user_id, changed_at, seq, at, subscription, what, before, actor_kind, actor_label";
const insertChanges = (user_id: number, count: number, what: string, before: string) =>
  insertMany(
    count,
    `history (${CHANGE})`,
    `${user_id}, n / 2 + 1, n % 2, n, n, '${what}', ${before}, 'token', case when n % 3 = 0 then 'phone' else 'laptop' end`,
  );

const newestFirst = (count: number) => Array.from({ length: count }, (_, n) => count - n);

test.each([PAGE - 1, PAGE, PAGE + 1, 2 * PAGE + 3])("%d changes are listed, newest first", async (limit) => {
  const user_id = (await podkeep.user()).id;
  const actor = actAsUser(user_id);
  await insertChanges(user_id, 2 * PAGE + 2, "added", "null");
  const all = newestFirst(2 * PAGE + 2);
  const listed = await listHistory(podkeep.app, actor, { limit });
  expect(listed.map(({ at }) => at)).toEqual(all.slice(0, limit));
  const after = listed[PAGE / 2];
  const later = await listHistory(podkeep.app, actor, { limit, ...(after && { after }) });
  expect(later.map(({ at }) => at)).toEqual(all.slice(PAGE / 2 + 1, PAGE / 2 + 1 + limit));
});

test("a page of the change feed reads little, however often a podcast's guid was replaced", async () => {
  const user_id = await userWith(10);
  await retire(user_id, 5, 20_000);
  await podkeep.sql(`update subscriptions set guid_changed = 1 where user_id = ${user_id} and id = 5`);
  await podkeep.sql(`update users set clock = 10000 where id = ${user_id}`);
  const query = { since: null, page: 1, per_page: 50 };
  const list = (after: ChangePosition | null) =>
    countReads(podkeep.app, (context) => listChanges(context, actAsUser(user_id), { ...query, after }));
  expect((await list(null)).rows).toBeLessThan(1000);
  expect((await list({ changed_at: 5, guid: "old5-5" })).rows).toBeLessThan(1000);
});

/** More than are examined at a time. */
const MANY = 4500;

test.each([PAGE - 1, PAGE, 1100, 2000])("of many changes, the latest %d by one app are listed", async (limit) => {
  const user_id = (await podkeep.user()).id;
  await insertChanges(user_id, MANY, "added", "null");
  const listed = await listHistory(podkeep.app, actAsUser(user_id), { by: "phone", limit });
  const expected = newestFirst(MANY).filter((n) => n % 3 === 0);
  expect(listed.map(({ at }) => at)).toEqual(expected.slice(0, limit));
});

test("all podcasts that one app added are found among many changes", async () => {
  const user_id = (await podkeep.user()).id;
  await insertChanges(user_id, MANY, "subscribed", "null");
  const added = await podkeep.app.database.read((tx) => listAddedBy(tx, { user_id, label: "phone" }));
  expect([...added]).toEqual(newestFirst(MANY).filter((n) => n % 3 === 0));
});

test("a mass removal is noticed, however many changes came after it", async () => {
  const user_id = await userWith(100);
  const at = podkeep.clock.now();
  await podkeep.sql(`delete from subscriptions where user_id = ${user_id} and id <= 80`);
  const removed = `'deleted', 'subscribed', 'token', 'phone'`;
  await insertMany(80, `history (${CHANGE})`, `${user_id}, ${at} + n / 2, n % 2, ${at} + n, n, ${removed}`);
  await insertMany(
    MANY,
    `history (${CHANGE})`,
    `${user_id}, ${at + 100} + n / 2, n % 2, ${at + 100} + n, 90, 'moved', 'subscribed', 'page', 'laptop'`,
  );
  const noticed = (since: number) => listMassRemovals(podkeep.app, actAsUser(user_id), since);
  expect(await noticed(at - 1)).toMatchObject([{ removed: 80 }]);
  expect(await noticed(at + 200)).toEqual([]);
});

/** Plays of which sixteen began at one time, of a third of them by "phone", of two podcasts in turn. */
async function insertPlays(user_id: number, count: number): Promise<void> {
  await insertMany(
    count,
    "episodes (user_id, id, podcast, url)",
    `${user_id}, n, n % 2 + 1, 'https://a.example/' || case when n % 5 = 0 then 'fifth' else 'other' end || n`,
  );
  await insertMany(
    count,
    "plays (user_id, id, episode, client, begun_at, ended_at, arrived_at, actor_kind, actor_label)",
    `${user_id}, n, n, 1, n / 16 + 1, n, n, 'token', case when n % 3 = 0 then 'phone' else 'laptop' end`,
  );
}

test.each<[string, object, (n: number) => boolean, number]>([
  ["all plays", {}, () => true, 0],
  ["plays of one podcast", { podcast: 2 }, (n) => n % 2 === 1, 10_000],
  ["plays in one app", { by: "phone" }, (n) => n % 3 === 0, 10_000],
  ["plays in one app, which has none,", { by: "tablet" }, () => false, 10_000],
  ["plays with a word", { search: "fifth" }, (n) => n % 5 === 0, 4000],
])("%s are listed once each, and examined so many for a page", async (_, filters, isListed, examined) => {
  const user_id = await userWith(2);
  const count = 12_345;
  await insertPlays(user_id, count);
  const all = newestFirst(count);
  for (const limit of [PAGE, 2000]) {
    let left = all;
    for (let after: PlayPosition | undefined; left.length > 0; ) {
      const { plays, next } = await listPlays(podkeep.app, actAsUser(user_id), { ...filters, limit, after });
      const here = left.slice(0, examined || left.length);
      const found = here.filter(isListed);
      expect(plays.map(({ id }) => id)).toEqual(found.slice(0, limit));
      const last = found.length > limit ? found[limit - 1] : here.length < left.length ? here.at(-1) : undefined;
      expect(next?.id).toBe(last);
      left = last === undefined ? [] : left.slice(left.indexOf(last) + 1);
      after = next ?? undefined;
    }
  }
});

test.each([PAGE - 1, PAGE, PAGE + 1, 2 * PAGE])(
  "%d plays of one episode are listed, and come in a stream",
  async (count) => {
    const user_id = await userWith(1);
    await insertPlays(user_id, count);
    await podkeep.sql(`update plays set episode = 1 where user_id = ${user_id}`);
    const listed: number[] = [];
    for (let after: PlayPosition | null | undefined; after !== null; ) {
      const page = await listEpisodePlays(podkeep.app, actAsUser(user_id), { episode: 1, limit: 100, after });
      listed.push(...page.plays.map(({ id }) => id));
      after = page.next;
    }
    expect(listed).toEqual(newestFirst(count));
    const streamed: number[] = [];
    for await (const part of streamPlays(podkeep.app, actAsUser(user_id))) streamed.push(...part.map(({ id }) => id));
    expect(streamed).toEqual(newestFirst(count));
  },
);

test.each([PAGE - 1, PAGE, PAGE + 1, 2 * PAGE])("%d episode actions are told once each", async (count) => {
  const user_id = await userWith(1);
  await insertPlays(user_id, count);
  await insertMany(
    count,
    "episode_actions (user_id, episode, kind, sent_at, acted_at, arrived_at)",
    `${user_id}, n, 'play', n, n, n`,
  );
  await podkeep.sql(`update users set clock = ${count} where id = ${user_id}`);
  const query = { since: 0, feed_url: null, aggregated: false, peek: false };
  const { pages } = await readActions(podkeep.app, actAsUser(user_id), null, query);
  const told: number[] = [];
  for await (const page of pages ?? []) told.push(...page.map(({ arrived_at }) => arrived_at));
  expect(told).toEqual(newestFirst(count).toReversed());
});

test.each([127, 128, 129, 300])("a deletion removes %d episodes and all their plays, and no others", async (count) => {
  const user_id = await userWith(2);
  // The second podcast keeps half of them.
  await insertPlays(user_id, 2 * count);
  await insertMany(
    3000,
    "plays (user_id, id, episode, client, begun_at, ended_at, arrived_at, actor_kind)",
    `${user_id}, 10000 + n, 2, 1, 5, n, n, 'token'`,
  );
  await insertMany(
    2 * count,
    "episode_actions (user_id, episode, kind, sent_at, acted_at, arrived_at)",
    `${user_id}, n, 'play', n, n, n`,
  );
  const actor = actAsUser(user_id);
  await transact(podkeep.app, actor, (user) => deleteEpisodesOf(user, 1));
  const kept = Array.from({ length: count }, (_, n) => 2 * n + 1);
  for (const [table, column] of Object.entries({ episodes: "id", episode_actions: "episode", plays: "episode" })) {
    const rows = await podkeep.sql(`select ${column} as id from ${table} where user_id = ${user_id} order by 1`);
    expect(rows.map(({ id }) => id)).toEqual(kept);
  }
});
