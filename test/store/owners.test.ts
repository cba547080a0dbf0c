// Users are isolated by the statements of src/store: each table with users' rows is narrowed to one user. SQLite knows: if
// the users' ids have the only indexes, its plan searches the tables that are narrowed to users, and scans the others.
// PostgreSQL gets the same statements (test/imports.test.ts).
import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { basename, join } from "node:path";
import { MIGRATION_TABLE } from "../../src/db/migrations/migrate.ts";
import { createQueryBuilder } from "../../src/db/query-builder.ts";
import type { Query, Value } from "../../src/db/statement.ts";
import { type Table, tables } from "../../src/db/tables.ts";
import { PAGE } from "../../src/store/rows.ts";

/** What is not narrowed to a user, by the reason. */
const FOR_ALL = {
  "the admin's lists and counts": [
    "deletions.listDeletions: deletions",
    "devices.listAllDevices: devices",
    "refusals.listAllRefusals: refusals",
    "status.countDeletions: deletions",
    "status.oldestPending: deletions",
    "tokens.listTokens: tokens",
    "users.anyUser: users",
    "users.countUsers: users",
    "users.latestClock: users",
    "users.listUsers: users",
    "users.listUsersAfter: users",
  ],
  "finds the user by a name": ["users.findUsers: users"],
  "finds the user by the id that others know": ["restore.keepPassword: users", "users.findPublicId: users"],
  "the session's text, which is signed, names both": ["ended-sessions.findBasis: users, tokens"],
  "the hash of a secret is the credential": [
    "connect-links.findLink: connect_links",
    "connect-links.openLink: connect_links",
    "login-flows.claimFlow: login_flows",
    "login-flows.findApprovedFlow: login_flows",
    "login-tokens.deleteLoginTokens: login_tokens",
    "login-tokens.findLoginToken: login_tokens",
    "login-tokens.markUsed: login_tokens",
    "password-links.findPasswordLink: password_links",
    "password-links.takePasswordLink: password_links",
    "tokens.findToken: tokens",
    "tokens.useToken: tokens",
  ],
  "a token's id is unique among all users": [
    "tokens.deleteToken: tokens",
    "tokens.extendToken: tokens",
    "tokens.findTokenById: tokens",
    "tokens.revokeToken: tokens",
  ],
  "anyone can start login flows, and they are limited by address": [
    "login-flows.countLoginFlows: login_flows",
    "login-flows.deleteOldestFlows: login_flows, login_flows",
    "login-flows.deleteOldestFlowsOf: login_flows, login_flows",
  ],
  "deletes what has expired": [
    "connect-links.deleteExpiredLinks: connect_links",
    "login-flows.deleteExpiredFlows: login_flows",
    "login-tokens.deleteExpiredLoginTokens: login_tokens",
  ],
  "the deletion worker": ["deletions.listDueDeletions: deletions", "deletions.nextDue: deletions"],
  "the worker that moves episodes": ["episode-moves.findWaiting: episode_moves"],
  "a feed is looked up once for all who follow it": [
    "feed-lookups.forgetFeed: feed_followers",
    "feed-lookups.listFollowers: feed_followers",
    "feed-lookups.listWalks: feed_walks",
    "feed-lookups.unfollowSome: feed_followers",
    "feed-lookups.unfollowSome: feed_followers",
  ],
  "a restore is of all users": [
    "restore.insertRestored: users",
    "restore.keepRevoked: tokens",
    "restore.latestChange: history",
    "restore.countPlaces: subscriptions, episode_actions",
    "restore.listPasswords: users",
    "restore.listRevoked: tokens",
    "restore.listTokensOfMany: tokens",
    "restore.listUserNames: users",
    "restore.renewTables: clients",
    "restore.renewTables: connect_links",
    "restore.renewTables: cursors",
    "restore.renewTables: ended_sessions",
    "restore.renewTables: episode_actions",
    "restore.renewTables: episode_moves",
    "restore.renewTables: feeds",
    "restore.renewTables: guids",
    "restore.renewTables: holdings",
    "restore.renewTables: login_flows",
    "restore.renewTables: login_tokens",
    "restore.renewTables: page_ends",
    "restore.renewTables: page_sessions",
    "restore.renewTables: password_links",
    "restore.renewTables: refusals",
    "restore.renewTables: subscriptions",
    "restore.renewTables: sync_entities",
    "restore.renewTables: users",
  ],
};

/** What has no statement. */
const HELPERS = ["feed-lookups.lockFollowers", "history.historyPosition", "users.clockColumn", "users.isClosed"];
const HELPER_FILES = ["expiry.ts", "rows.ts"];

type Run = (...given: unknown[]) => unknown;

const STORE = join(import.meta.dir, "../../src/store");
const files = [...new Bun.Glob("**/*.ts").scanSync(STORE)].filter((file) => !HELPER_FILES.includes(file));

const sqlite = new Database(":memory:");
afterAll(() => sqlite.close());
sqlite.run("pragma automatic_index = off");
sqlite.run(`create table ${MIGRATION_TABLE} (name, timestamp)`);
const owners = new Map<string, string>();
for (const [name, { columns, owner }] of Object.entries<Table<Record<string, unknown>>>(tables)) {
  sqlite.run(`create table ${name} (${Object.keys(columns).map((column) => `"${column}"`)})`);
  if (owner === null) continue;
  owners.set(name, owner);
  sqlite.run(`create index ${name}_owner on ${name} (${owner})`);
}

/** The functions of a module, and those in its lists. */
function functionsOf(name: string, value: unknown): [string, Run][] {
  if (typeof value === "function") return [[name, value as Run]];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => functionsOf(`${name}.${key}`, one));
}

/** The statements that a function runs if it is called for a user. */
async function statementsOf(run: Run): Promise<Query[]> {
  const queries: Query[] = [];
  const tx = {
    kysely: createQueryBuilder("sqlite"),
    // A full page first, because the next one can have another statement; a user has no second page of users.
    execute: async (query: Query) => {
      const isFirst = queries.push(query) === 1;
      return isFirst && !/ from "(users|password_links)"/.test(query.sql)
        ? Array.from({ length: PAGE }, () => ({}))
        : [];
    },
    // What reads in its own transactions gets this as a database.
    read: (work: Run) => work(tx),
  };
  const result = await run(tx, { user_id: 1 }, [{ user_id: 1 }]);
  if (typeof result !== "object" || result === null || !(Symbol.asyncIterator in result)) return queries;
  for await (const _ of result as AsyncIterable<unknown>);
  return queries;
}

/** The tables of which a statement reads or changes rows of more than one user. */
function looseTables({ sql, parameters }: Query): string[] {
  const [narrowing = sql, conflict = ""] = sql.split(" on conflict ");
  const plan = sqlite.query<{ detail: string }, Value[]>(`explain query plan ${narrowing}`);
  const steps = plan.all(...parameters.slice(0, plan.paramsCount)).map(({ detail }) => detail);
  const named = [...narrowing.matchAll(/\b(?:from|join|update) "?(\w+)"?(?: as "?(\w+)"?)?/g)];
  const references = named.map(([, table = "", alias = table]) => ({ table, alias }));
  const loose = [...Map.groupBy(references, ({ alias }) => alias)].flatMap(([alias, all]) => {
    const table = all[0]?.table ?? "";
    if (!owners.has(table)) return [];
    const own = steps.filter((step) => new RegExp(`^(SCAN|SEARCH) ${alias}\\b`).test(step));
    const narrowed = own.filter((step) => step.includes(` ${table}_owner (${owners.get(table)}=?`));
    return Array<string>(Math.max(all.length, own.length) - narrowed.length).fill(table);
  });
  const replaced = /^insert into "(\w+)"/.exec(sql)?.[1] ?? "";
  const isForeign = / do update /.test(conflict) && !/^\([^)]*"user_id"/.test(conflict) && owners.has(replaced);
  return isForeign ? [...loose, replaced] : loose;
}

const modules = await Promise.all(
  files.map(async (file) => {
    const functions = functionsOf(basename(file, ".ts"), await import(join(STORE, file)));
    const found = functions.filter(([name]) => !HELPERS.includes(name));
    const runs = found.map(async ([name, run]) => ({ name, queries: await statementsOf(run) }));
    return { file, runs: await Promise.all(runs) };
  }),
);
const runs = modules.flatMap((module) => module.runs);

test("a user's statements reach no row of others", () => {
  const found = runs.flatMap(({ name, queries }) => {
    const loose = queries.map(looseTables).filter(({ length }) => length > 0);
    return loose.map((tables) => `${name}: ${tables.join(", ")}`);
  });
  expect(found.toSorted()).toEqual(Object.values(FOR_ALL).flat().toSorted());
});

test("every statement is examined", async () => {
  expect(runs.filter(({ queries }) => queries.length === 0)).toEqual([]);
  const makers = /\b(statement|bulkStatement|insertRows?|saveRows?|deleteRowsOf|deleteAllBut(OneAnd)?)\(/g;
  for (const { file, runs } of modules) {
    const made = (await Bun.file(join(STORE, file)).text()).match(makers) ?? [];
    const examined = new Set(runs.flatMap(({ queries }) => queries.map(({ sql }) => sql)));
    expect([file, examined.size >= made.length]).toEqual([file, true]);
  }
});
