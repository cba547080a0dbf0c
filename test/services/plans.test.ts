// Query plans: the statements of a sync use an index, however much a user has, also before a server has opened the database.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Tx } from "../../src/db/statement.ts";
import { tables } from "../../src/db/tables.ts";
import { countRetired, findNews, listChanged, listChangedAfter } from "../../src/store/change-feed.ts";
import { noteClientSeen } from "../../src/store/clients.ts";
import {
  anyArrived,
  findArrival,
  findLaterArrival,
  listArrived,
  listArrivedEpisodes,
  listArrivedEpisodesOf,
  listArrivedEpisodesOfLong,
  listArrivedOf,
  listArrivedOfLong,
  listBegun,
  renewActions,
} from "../../src/store/episode-actions.ts";
import {
  anyMoves,
  deleteMoves,
  deleteRenewals,
  findMoves,
  findWaiting,
  listMoved,
} from "../../src/store/episode-moves.ts";
import {
  countEpisodesIn,
  findEpisodesByGuid,
  findEpisodesById,
  findEpisodesByUrl,
  findPodcastsByUrl,
  findPodcastsOfAllByUrl,
  listEpisodesOf,
  listIdsOf,
  listPodcastsBetween,
  listPodcastsIn,
} from "../../src/store/episodes.ts";
import { findFeeds, listLeft, listLeftFeedsOf } from "../../src/store/feeds.ts";
import { findGuids, listRetiredFrom, listRetiredGuidsOf, listRetiredSince } from "../../src/store/guids.ts";
import { HISTORY_END, listHistory } from "../../src/store/history.ts";
import {
  deleteHoldingsUpTo,
  findEndOfPart,
  findHoldings,
  listHoldings,
  listHoldingsAfter,
  listToResend,
} from "../../src/store/holdings.ts";
import { findFirstPlay, findPlay, sumByEpisode, sumByPodcast, sumSpans } from "../../src/store/listening-hours.ts";
import { findLoginToken, listFamily } from "../../src/store/login-tokens.ts";
import { findEntries, findLatestPlays, findPlace, listPlacesOfEpisode, listPlays } from "../../src/store/play-list.ts";
import {
  deletePlays,
  deletePlaysAt,
  extendPlays,
  findPlays,
  findPlaysBegun,
  listPlacesOf,
  movePlaysAt,
  prunePlays,
} from "../../src/store/plays.ts";
import { countSubscribed, listPresent, listSubscribed, listSubscriptions } from "../../src/store/subscriptions.ts";
import { deleteActions, findActions, listDone } from "../../src/store/sync-actions.ts";
import {
  findEntities,
  listEntitiesOf,
  listLeftEntities,
  listSubscriptionsAfter,
} from "../../src/store/sync-entities.ts";
import { openTestApp, type TestApp } from "../support/app.ts";
import { ON_SQLITE } from "../support/database.ts";
import { PATIENCE } from "../support/patience.ts";

setDefaultTimeout(PATIENCE);

const SUBSCRIPTIONS = 20_000;
const EPISODES = 20_000;
const PLAYS = 50_000;

let podkeep: TestApp;
let user_id: number;
/** Has far more episodes than podcasts: else PostgreSQL reads all episodes, which costs less than to ask each podcast. */
let listener: number;
/** Has plays of one moment, such as of a player that marks all as played. */
let marker: number;
/** On PostgreSQL, the plans before the first statistics, by statement. */
const early = new Map<string, string>();
/** The same, if the tables have a million rows: PostgreSQL expects more of each user then. */
const earlyOfMany = new Map<string, string>();

type Run = (tx: Tx) => Promise<unknown>;

const isPostgres = () => podkeep.app.config.database_url !== undefined;

/** Inserts one row for each number. */
const insertMany = (count: number, into: string, values: string) =>
  podkeep.sql(`insert into ${into} with recursive n(n) as (select 1 union all select n + 1 from n where n < ${count})
    select ${values} from n`);

async function insertSubscriptions(count: number, user: string): Promise<void> {
  await insertMany(
    count,
    "subscriptions (user_id, id, feed_url, guid, is_subscribed, subscription_changed, changed_at)",
    `${user}, n, 'https://a.example/' || n, 'guid' || n, 1, n, n`,
  );
  await insertMany(count, "feeds (user_id, feed, subscription)", `${user}, 'feed' || n, n`);
  await insertMany(count, "feeds (user_id, feed, subscription, left_url, left_at)", `${user}, 'left' || n, n, n, n`);
}

async function insertGuids(count: number, user: string): Promise<void> {
  await insertMany(count, "guids (user_id, guid, subscription)", `${user}, 'guid' || n, n`);
  await insertMany(count, "guids (user_id, guid, subscription, retired_at)", `${user}, 'old' || n, n, n`);
}

const insertActions = (count: number, user: string) =>
  insertMany(
    count,
    "sync_actions (user_id, action_id, request_hash, result, done_at)",
    `${user}, 'action' || n, '', '', n`,
  );

async function insertHoldings(count: number, user: string): Promise<void> {
  await insertMany(1, "clients (user_id, id, seen_at, began)", `${user}, 'client0', n, 0`);
  await insertMany(
    count,
    "holdings (user_id, client, feed, feed_url, reported, decided)",
    `${user}, 'client0', 'feed' || n, 'https://a.example/' || n, 1, n`,
  );
}

const insertChanges = (count: number, user: string) =>
  insertMany(
    count,
    "history (user_id, changed_at, seq, at, subscription, what, actor_kind)",
    `${user}, n, 0, n, n, 'added', 'token'`,
  );

const insertEntities = (count: number, user: string) =>
  insertMany(
    count,
    "sync_entities (user_id, sync_id, subscription, changed_at, left_at, subscribed_at, status_at, address_at)",
    `${user}, 'sync' || n, n, n, n, n, n, n`,
  );

async function insertEpisodes(count: number, user: string): Promise<void> {
  await insertMany(
    count,
    "episodes (user_id, id, podcast, url, guid, url_key, guid_key)",
    `${user}, n, n % 200, 'https://a.example/' || n, 'guid' || n, n, n`,
  );
  await insertMany(
    count,
    "episode_actions (user_id, episode, kind, sent_at, acted_at, arrived_at)",
    `${user}, n, 'play', n, n, n`,
  );
}

const insertMoves = (user: string) =>
  insertMany(
    EPISODES,
    "episode_moves (user_id, batch, podcast, feed, until, last_episode)",
    `${user}, n / 100, n, '', n, n`,
  );

const insertPlays = (user: string) =>
  insertMany(
    PLAYS,
    "plays (user_id, id, episode, client, begun_at, ended_at, started, position, arrived_at, actor_kind)",
    `${user}, n, n % ${EPISODES}, 1, n, n, 0, 60, n, 'token'`,
  );

beforeAll(async () => {
  podkeep = await openTestApp();
  if (isPostgres()) {
    // Another test's deleted rows would count as rows.
    await podkeep.sql(`truncate ${Object.keys(tables).join(", ")}`);
    // Looking up what each row refers to takes a third of the time, and changes no plan.
    await podkeep.sql("set session_replication_role = replica");
  }
  ({ id: user_id } = await podkeep.user("ann"));
  const { sql } = podkeep;
  const id = `'${user_id}'`;
  await insertSubscriptions(SUBSCRIPTIONS, id);
  await insertGuids(SUBSCRIPTIONS, id);
  await insertMany(SUBSCRIPTIONS, "clients (user_id, id, seen_at, began)", `${id}, 'client' || n, n, 0`);
  await insertHoldings(SUBSCRIPTIONS, id);
  await insertEntities(SUBSCRIPTIONS, id);
  await insertChanges(SUBSCRIPTIONS, id);
  await insertActions(SUBSCRIPTIONS, id);
  await insertMany(
    SUBSCRIPTIONS,
    "login_tokens (user_id, token_hash, token_id, family, kind, generation, used, owns_token, expires_at)",
    `${id}, 'hash' || n, 'token', 'family' || n / 5, 'access', 0, 0, 1, n`,
  );
  await insertEpisodes(EPISODES, id);
  await insertMoves(id);
  await insertPlays(id);
  ({ id: listener } = await podkeep.user("bob"));
  const other = `'${listener}'`;
  await insertSubscriptions(40, other);
  ({ id: marker } = await podkeep.user("dan"));
  await insertMany(
    EPISODES,
    "episodes (user_id, id, podcast, url)",
    `${marker}, n, n % 200, 'https://a.example/' || n`,
  );
  await insertMany(
    EPISODES,
    "plays (user_id, id, episode, client, begun_at, ended_at, arrived_at, actor_kind)",
    `${marker}, n, n, 1, 5, 5, n, 'token'`,
  );
  if (!isPostgres()) return;
  // It would read a table of one user only as a whole.
  await insertEpisodes(5 * EPISODES, other);
  await insertMoves(other);
  await insertPlays(other);
  const third = `'${(await podkeep.user("cleo")).id}'`;
  await insertSubscriptions(5 * SUBSCRIPTIONS, third);
  await insertGuids(5 * SUBSCRIPTIONS, third);
  await insertActions(5 * SUBSCRIPTIONS, third);
  await insertHoldings(5 * SUBSCRIPTIONS, third);
  await insertEntities(5 * SUBSCRIPTIONS, third);
  await insertChanges(5 * SUBSCRIPTIONS, third);
  await sql("reset session_replication_role");
  for (const [what, , run] of [...STATEMENTS, ...AT_ONCE]) early.set(what, await explain(run));
  await sql(`update pg_class set reltuples = 1000000, relpages = pg_relation_size(oid) / 8192
    where relnamespace = current_schema()::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0`);
  for (const [what, run] of [...IN_ORDER, A_PIECE]) earlyOfMany.set(what, await explain(run));
  await sql("analyze");
});

afterAll(() => podkeep.close());

/** The plan of each statement that `run` executes. @param how PostgreSQL's options; without `analyze` none is executed */
async function explain(run: Run, how = "costs"): Promise<string> {
  const plans: unknown[] = [];
  await podkeep.app.database.read(async (tx) => {
    const execute: Tx["execute"] = async ({ sql, parameters }) => {
      plans.push(
        ...(await tx.execute({ sql: `explain ${isPostgres() ? `(${how})` : "query plan"} ${sql}`, parameters })),
      );
      return [];
    };
    await run({ kysely: tx.kysely, execute });
  });
  return textOf(plans);
}

/** The plan that PostgreSQL makes for all users, which a connection that has served several uses. */
async function explainForAll(run: Run): Promise<string> {
  const plans: unknown[] = [];
  const { kysely } = await podkeep.app.database.read(async (tx) => tx);
  await podkeep.sql("set plan_cache_mode = force_generic_plan");
  const execute: Tx["execute"] = async ({ sql, parameters }) => {
    await podkeep.sql(`prepare asked as ${sql}`);
    const values = parameters.length > 0 ? `(${parameters.map(() => "null").join(", ")})` : "";
    plans.push(...(await podkeep.sql(`explain execute asked ${values}`)));
    await podkeep.sql("deallocate asked");
    return [];
  };
  await run({ kysely, execute });
  return textOf(plans);
}

const textOf = (plans: unknown[]) => plans.map((row) => Object.values(row as object).join(" ")).join("\n");

/**
 * Statements with many rows to look for. Without statistics PostgreSQL would rather read all that the user has; if it could
 * not see the user, a cluster could not see on which node the user is (docs/operators/scale.md).
 */
const NEED_STATISTICS = new Set([
  "entities by sync_id",
  "entities of subscriptions",
  "episodes by guid",
  "episodes by URL",
  "actions to tell again",
  "the plays that a search found",
  "plays of joined episodes",
  "feeds",
  "left feeds of subscriptions",
  "guids",
  "retired guids of subscriptions",
  "retired guids of a page",
  "what a deletion removes of plays",
  "a part of the plays that a deletion removes",
]);

/** All plans that a statement may have. */
async function plansOf(what: string, run: Run): Promise<string[]> {
  const present = await explain(run);
  return isPostgres() && !NEED_STATISTICS.has(what)
    ? [early.get(what) ?? "", present, await explainForAll(run)]
    : [present];
}

const many = <T>(row: (n: number) => T) => Array.from({ length: 128 }, (_, n) => row(n + 1));
/** A statement over that many rows. */
const bulk =
  <Row>(run: (tx: Tx, of: { user_id: number }, rows: Row[]) => Promise<unknown>, row: (n: number) => Row): Run =>
  (tx) =>
    run(tx, { user_id }, many(row));
const span = () => ({ user_id, start: EPISODES - 10, end: EPISODES, client: 1, limit: 500 });

const ofClient = () => ({ user_id, client: "client0" });
const piece = { from: 1000, from_id: 0, to: 2000, to_id: 0 };
const place = () => ({ user_id, begun_at: PLAYS, id: PLAYS });

const extension = (n: number) => ({
  episode: n,
  client: 1,
  from: n,
  from_position: 60,
  ended_at: n + 60,
  position: 120,
  total: null,
  ended_ahead: null,
});

const STATEMENTS: [what: string, column: string, run: Run][] = [
  ["changed subscriptions", "changed_at", (tx) => listChangedAfter(tx, { user_id, start: SUBSCRIPTIONS - 10 })],
  [
    "a page of the change feed",
    "changed_at",
    (tx) => listChanged(tx, { user_id, from: SUBSCRIPTIONS - 10, limit: 50 }),
  ],
  ["entities that became part of others", "left_at", (tx) => listLeftEntities(tx, { user_id, from: 1, to: 9 })],
  ["entities by sync_id", "sync_id", bulk(findEntities, (n) => ({ sync_id: `sync${n}` }))],
  ["entities of subscriptions", "subscription", bulk(listEntitiesOf, (id) => ({ id }))],
  ["a page of entities", "id", (tx) => listSubscriptionsAfter(tx, { user_id, after: 5, all: 0, limit: 30 })],
  ["actions that were done", "action_id", bulk(findActions, (n) => ({ action_id: `action${n}` }))],
  ["actions that were done long ago", "action_id", bulk(deleteActions, (n) => ({ action_id: `action${n}` }))],
  [
    "a page of what a client holds",
    "feed",
    (tx) => listHoldingsAfter(tx, { ...ofClient(), after: "feed3", limit: 10 }),
  ],
  ["the end of a part of what is forgotten", "client", (tx) => findEndOfPart(tx, { ...ofClient(), after: "" })],
  ["a part of what is forgotten", "feed", (tx) => deleteHoldingsUpTo(tx, { ...ofClient(), last: "feed3" })],
  ["a login", "token_hash", (tx) => findLoginToken(tx, { token_hash: "hash7" })],
  ["the tokens of a login", "family", (tx) => listFamily(tx, { user_id, family: "family7" })],
  ["URLs that were left", "left_at", (tx) => listLeft(tx, { user_id, start: 1 })],
  ["whether there is news", "changed_at", (tx) => findNews(tx, { ...ofClient(), start: 1e15 })],
  ["feeds to resend", "resend_at", (tx) => listToResend(tx, { ...ofClient(), start: 1 })],
  [
    "what a client said",
    "feed",
    (tx) =>
      findHoldings(
        tx,
        ofClient(),
        many((n) => ({ feed: `feed${n}` })),
      ),
  ],
  ["a client", "id", (tx) => noteClientSeen(tx, { user_id, id: "client1", seen_at: 1 })],
  ["whether actions arrived", "arrived_at", (tx) => anyArrived(tx, span())],
  ["actions that arrived", "arrived_at", (tx) => listArrived(tx, span())],
  ["episodes that changed", "arrived_at", (tx) => listArrivedEpisodes(tx, span())],
  ["actions of one podcast that arrived", "podcast", (tx) => listArrivedOf(tx, { ...span(), start: 0, podcast: 1 })],
  ["episodes of one podcast", "podcast", (tx) => listArrivedEpisodesOf(tx, { ...span(), start: 0, podcast: 1 })],
  ["actions of a long podcast", "arrived_at", (tx) => listArrivedOfLong(tx, { ...span(), podcast: 1 })],
  ["episodes of a long podcast", "arrived_at", (tx) => listArrivedEpisodesOfLong(tx, { ...span(), podcast: 1 })],
  ["the end of a part of actions", "arrived_at", (tx) => findLaterArrival(tx, { user_id, after: 1, skip: 99 })],
  [
    "how many episodes a podcast has",
    "podcast",
    (tx) => countEpisodesIn(tx, { user_id, most: 1001 }, [{ podcast: 1 }]),
  ],
  ["episodes by guid", "guid_key", bulk(findEpisodesByGuid, (n) => ({ podcast: n % 200, guid_key: n }))],
  ["episodes by URL", "url_key", bulk(findEpisodesByUrl, (n) => ({ podcast: n % 200, url_key: n }))],
  [
    "the subscriptions that have episodes",
    "url_key",
    (tx) =>
      findPodcastsByUrl(
        tx,
        { user_id: listener },
        many((n) => ({ url_key: n })),
      ),
  ],
  ["episodes of a podcast", "podcast", (tx) => listEpisodesOf(tx, { user_id, limit: 1000 }, [{ podcast: 1 }])],
  [
    "how many episodes podcasts have",
    "podcast",
    bulk(
      (tx, p, rows: { podcast: number }[]) => countEpisodesIn(tx, { ...p, most: 1000 }, rows),
      (n) => ({ podcast: n % 200 }),
    ),
  ],
  ["episodes by id", "id", bulk(findEpisodesById, (n) => ({ id: n }))],
  ["the podcasts of some episodes", "id", (tx) => listPodcastsBetween(tx, { user_id, after: 1000, to: 3048 })],
  ["whether moves wait", "user_id", (tx) => anyMoves(tx, { user_id })],
  [
    "a change's moves of some podcasts",
    "podcast",
    bulk(
      (tx, p, rows: { podcast: number }[]) => findMoves(tx, { ...p, batch: 1 }, rows),
      (n) => ({ podcast: n }),
    ),
  ],
  ["the podcasts that a change moves", "batch", (tx) => listMoved(tx, { user_id, batch: 1, limit: 129 })],
  ["moves that have ended", "batch", (tx) => deleteMoves(tx, { user_id, batch: 1 })],
  ["moves that another one replaces", "user_id", bulk(deleteRenewals, (n) => ({ podcast: n }))],
  ["what a deletion removes", "podcast", (tx) => listIdsOf(tx, { user_id, podcast: 1, limit: 128 })],
  [
    "actions to tell again",
    "podcast",
    (tx) => renewActions(tx, { user_id, after: 1 }, many((n) => ({ podcast: n })).slice(0, 16)),
  ],
  ["the end of a piece of plays", "begun_at", (tx) => findPlace(tx, { ...place(), skip: 1999 })],
  [
    "a page of plays",
    "begun_at",
    (tx) => listPlays(tx, { ...place(), from: PLAYS - 2000, from_id: 0, podcast: 0, by: "", limit: 100 }),
  ],
  [
    "a page of plays of one podcast in one app",
    "begun_at",
    (tx) => listPlays(tx, { ...place(), from: PLAYS - 2000, from_id: 0, podcast: 7, by: "app", limit: 100 }),
  ],
  ["the plays that a search found", "begun_at", bulk(findEntries, (n) => ({ begun_at: n, id: n }))],
  ["what is begun", "arrived_at", (tx) => listBegun(tx, { user_id, from: EPISODES - 1000, to: EPISODES, limit: 50 })],
  ["where a part of the actions begins", "arrived_at", (tx) => findArrival(tx, { user_id, to: EPISODES, skip: 99 })],
  ["plays that began when those of a file did", "begun_at", bulk(findPlaysBegun, (n) => ({ episode: n, begun_at: n }))],
  ["plays of joined episodes", "begun_at", bulk(movePlaysAt, (n) => ({ begun_at: n, id: n, into: n + 1 }))],
  ["plays of an episode", "episode", (tx) => listPlacesOfEpisode(tx, { ...place(), episode: 7, limit: 100 })],
  ["the latest play of each episode", "episode", bulk(findLatestPlays, (n) => ({ episode: n, before: PLAYS }))],
  ["hours of days", "begun_at", (tx) => sumSpans(tx, { user_id }, many((n) => ({ from: n, to: n + 1 })).slice(0, 8))],
  [
    "hours of a month by podcast",
    "begun_at(,id\\))?",
    (tx) => sumByPodcast(tx, { user_id, from: 1, from_id: 0, to: 600, to_id: 0 }),
  ],
  ["feeds", "feed", bulk(findFeeds, (n) => ({ feed: `feed${n}` }))],
  ["left feeds of subscriptions", "subscription", bulk(listLeftFeedsOf, (id) => ({ id }))],
  ["guids", "guid", bulk(findGuids, (n) => ({ guid: `guid${n}` }))],
  ["retired guids of subscriptions", "subscription", bulk(listRetiredGuidsOf, (id) => ({ id }))],
  [
    "retired guids of a page",
    "subscription",
    (tx) =>
      listRetiredSince(
        tx,
        { user_id, since: 1, limit: 512 },
        many((id) => ({ id })),
      ),
  ],
  [
    "retired guids of a subscription from one on",
    "subscription.*",
    (tx) => listRetiredFrom(tx, { user_id, subscription: 7, since: 1, from: "old7", limit: 52 }),
  ],
];

/** An app marks all episodes of a podcast as played at one time. */
const AT_ONCE: [what: string, column: string, run: Run][] = [
  ["the play before a report", "episode", bulk(findPlays, (n) => ({ episode: n, client: 1, at: PLAYS }))],
  ["the latest play of each episode", "episode", bulk(findLatestPlays, (n) => ({ episode: n, before: PLAYS }))],
  ["what a deletion removes of plays", "episode", bulk(deletePlays, (id) => ({ id }))],
  [
    "a part of the plays that a deletion removes",
    "episode",
    bulk(
      (tx, p, rows: { id: number }[]) => listPlacesOf(tx, { ...p, limit: 5000 }, rows),
      (id) => ({ id }),
    ),
  ],
  ["the play that goes on", "episode", bulk(extendPlays, extension)],
  ["how long clients said that episodes were listened to", "episode", bulk(sumByEpisode, (episode) => ({ episode }))],
];

/** The first page of much, read in an order that an index has. */
const IN_ORDER: [what: string, run: Run][] = [
  ["a list", (tx) => listSubscriptions(tx, { user_id })],
  ["what people see of a list", (tx) => listPresent(tx, { user_id })],
  ["a list of what is subscribed", (tx) => listSubscribed(tx, { user_id })],
  ["how many are subscribed", (tx) => countSubscribed(tx, { user_id })],
  ["the change feed", (tx) => listChanged(tx, { user_id, from: 0, limit: 500 })],
  ["all changed subscriptions", (tx) => listChangedAfter(tx, { user_id, start: 0 })],
  ["the entities of the draft", (tx) => listSubscriptionsAfter(tx, { user_id, after: 0, all: 1, limit: 30 })],
  ["what a client holds", (tx) => listHoldings(tx, ofClient())],
  ["whether anything ever arrived", (tx) => anyArrived(tx, { ...span(), start: 0, end: 1e15 })],
  ["all that arrived", (tx) => listArrived(tx, { ...span(), start: 0, end: 1e15 })],
  ["where the last part of the actions begins", (tx) => findArrival(tx, { user_id, to: 1e15, skip: 999 })],
  ["where the first part of the actions ends", (tx) => findLaterArrival(tx, { user_id, after: 0, skip: 999 })],
  ["the last action", (tx) => findArrival(tx, { user_id, to: Number.MAX_SAFE_INTEGER, skip: 0 })],
  ["all plays", (tx) => listPlays(tx, { ...place(), from: 0, from_id: 0, podcast: 0, by: "", limit: 100 })],
  ["the end of the first piece of plays", (tx) => findPlace(tx, { ...place(), skip: 1999 })],
  [
    "the end of the first piece of a year",
    (tx) => findPlay(tx, { user_id, from: 0, from_id: 0, to: PLAYS, to_id: 0, skip: 9999 }),
  ],
  ["who has moves that wait", (tx) => findWaiting(tx, { after: 0 })],
  ["the first play", (tx) => findFirstPlay(tx, { user_id })],
  ["when actions were done", (tx) => listDone(tx, { user_id, after: "", limit: 256 })],
  ["the history", (tx) => listHistory(tx, { user_id, ...HISTORY_END, limit: 100 })],
];

const A_PIECE: [what: string, run: Run] = ["a piece of a year", (tx) => sumByPodcast(tx, { user_id, ...piece })];

/** All plans that a statement may have, those of large tables too. */
const plansOfMany = async ([what, run]: [string, Run]) =>
  isPostgres() ? [earlyOfMany.get(what) ?? "", await explain(run), await explainForAll(run)] : [await explain(run)];

test.each(IN_ORDER)("no page of %s reads the pages after it", async (what, run) => {
  for (const plan of await plansOfMany([what, run])) expect(plan).not.toMatch(/Sort|Seq Scan|USE TEMP B-TREE/);
});

test("a piece of a year does not read the index of all plays", async () => {
  for (const plan of await plansOfMany(A_PIECE)) {
    expect(plan).toMatch(isPostgres() ? /Scan (using|on) plays_key/ : /SEARCH plays .*\(begun_at,id\)>/);
  }
});

test.each(AT_ONCE)("%s is found by its episode, however many plays began at once", async (what, _, run) => {
  for (const plan of await plansOf(what, run)) {
    expect(plan).toMatch(isPostgres() ? /Index Cond: .*episode/ : /USING .*\(user_id=\? AND episode=\?/);
    expect(plan).not.toMatch(isPostgres() ? /Seq Scan/ : /\(user_id=\? AND begun_at=\?\)/);
  }
});

test.each(STATEMENTS)("an index finds %s", async (what, column, run) => {
  const condition = isPostgres()
    ? new RegExp(`Index Cond: .*\\b${column}[ ,]`)
    : new RegExp(`USING .*\\((user_id=\\? AND .*)?\\(?${column}[=><,]`);
  for (const plan of await plansOf(what, run)) {
    expect(plan).toMatch(condition);
    // Rows of the statement itself are walked.
    expect(plan).not.toMatch(
      /Seq Scan|SCAN (?!\d* ?CONSTANT|\d+-ROW VALUES|wanted|renewed|begun|counted|latest|found|way|\(subquery)/,
    );
  }
});

test.skipIf(ON_SQLITE)("a page of plays of one moment does not read the index of those before it", async () => {
  const page = { user_id: marker, begun_at: 5, id: 1000, from: -1, from_id: 0, podcast: 0, by: "", limit: 10 };
  const plans = await explain((tx) => listPlays(tx, page), "analyze, buffers");
  const [, buffers] = /Scan Backward using plays_key.*\n(?:(?! *Buffers).*\n)* *Buffers: (.*)/.exec(plans) ?? [];
  const read = [...(buffers ?? "").matchAll(/=(\d+)/g)].reduce((sum, [, pages]) => sum + Number(pages), 0);
  expect(read).toBeGreaterThan(0);
  expect(read).toBeLessThan(20);
});

test("a page of plays of one podcast does not read all its episodes for each play", async () => {
  const page = { ...place(), from: PLAYS - 2000, from_id: 0, podcast: 7, by: "", limit: 100 };
  for (const plan of await plansOf("a page of plays of one podcast in one app", (tx) => listPlays(tx, page))) {
    expect(plan).toMatch(isPostgres() ? /episodes_key/ : /SEARCH episodes USING .*\(user_id=\? AND id=\?\)/);
    expect(plan).not.toContain("episodes_by_podcast");
  }
});

test.if(ON_SQLITE)(
  "a page of plays reads none before and behind it, however many began at its first moment",
  async () => {
    const page = { ...place(), from: PLAYS - 2000, from_id: 5, podcast: 0, by: "", limit: 100 };
    expect(await explain((tx) => listPlays(tx, page))).toContain("(begun_at,id)>(?,?) AND (begun_at,id)<(?,?)");
    expect(await explain((tx) => findPlace(tx, { ...place(), skip: 1999 }))).toContain("(begun_at,id)<(?,?)");
  },
);

test.if(ON_SQLITE)("the latest play of an episode is looked for once, not once for each of its plays", async () => {
  const [, , run] = STATEMENTS.find(([what]) => what === "the latest play of each episode") ?? [];
  expect(run && (await explain(run))).toContain("MATERIALIZE latest");
});

test.if(ON_SQLITE)("of an episode's plays, only the latest ones are read, of the others only the index", async () => {
  const [, , run] = STATEMENTS.find(([what]) => what === "the latest play of each episode") ?? [];
  expect(run && (await explain(run))).toMatch(
    /SEARCH last USING COVERING INDEX plays_by_episode .*\n[\d ]*SEARCH plays USING PRIMARY KEY \(user_id=\? AND begun_at=\? AND id=\?\)$/,
  );
});

test.if(ON_SQLITE).each<[string, Run]>([
  ["that a deletion found are deleted", bulk(deletePlaysAt, (n) => ({ begun_at: n, id: n }))],
  ["of joined episodes are moved", bulk(movePlaysAt, (n) => ({ begun_at: n, id: n, into: n + 1 }))],
])("plays %s by their places", async (_, run) => {
  expect(await explain(run)).toMatch(/SEARCH plays USING PRIMARY KEY \(user_id=\? AND begun_at=\? AND id=\?\)/);
});

test.if(ON_SQLITE)(
  "a part of old plays is deleted without a look at those after it, however many are old",
  async () => {
    const plan = await explain((tx) => prunePlays(tx, { user_id, to: 1000, to_id: 1000 }));
    expect(plan).toMatch(/^[\d ]*SEARCH plays USING PRIMARY KEY \(user_id=\? AND \(begun_at,id\)<\(\?,\?\)\)$/);
  },
);

test.if(ON_SQLITE)("an index that has all of a user's episodes says which subscriptions have them", async () => {
  const plan = await explain(bulk(findPodcastsOfAllByUrl, (n) => ({ url_key: n })));
  expect(plan).toMatch(/SEARCH asked USING COVERING INDEX episodes_by_url \(user_id=\? AND podcast>\?\)/);
});

test.if(ON_SQLITE)("retired guids are counted in an index alone, which has their subscriptions too", async () => {
  const plan = await explain((tx) => countRetired(tx, { user_id, since: 5 }));
  expect(plan).toMatch(/SEARCH guids USING COVERING INDEX guids_by_retirement \(user_id=\? AND retired_at>\?\)/);
});

// PostgreSQL finds them by this index too, once it has statistics.
test.if(ON_SQLITE)("an index finds the episodes of the podcasts that a change moves", async () => {
  const plan = await explain(
    bulk(
      (tx, p, rows: { podcast: number }[]) => listPodcastsIn(tx, { ...p, limit: 9 }, rows),
      (n) => ({ podcast: n }),
    ),
  );
  expect(plan).toMatch(/SEARCH episodes USING INDEX episodes_by_\w+ \(user_id=\? AND podcast=\?\)/);
});
