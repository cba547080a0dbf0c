// Databases of every released schema version, opened by today's program.

import { Database as Sqlite } from "bun:sqlite";
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Kysely, type Migration, Migrator } from "kysely";
import { PostgresJSDialect } from "kysely-postgres-js";
import { z } from "zod";
import { openApp } from "../../src/app.ts";
import { createBackup, verifyBackup } from "../../src/backups/backups.ts";
import { restoreBackup } from "../../src/backups/restore.ts";
import { start } from "../../src/db/migrations/0001_start.ts";
import { relaxChecks } from "../../src/db/migrations/0002_relax_checks.ts";
import { accounts } from "../../src/db/migrations/0003_accounts.ts";
import { addTitles } from "../../src/db/migrations/0004_titles.ts";
import { addAppSync } from "../../src/db/migrations/0005_app_sync.ts";
import { MIGRATION_TABLE, SCHEMA_VERSION } from "../../src/db/migrations/migrate.ts";
import { DIALECT, MIGRATION_LOCK } from "../../src/db/postgres/upgrade.ts";
import { tables } from "../../src/db/tables.ts";
import { numberOf } from "../../src/domain/episode-set.ts";
import { hashFeedUrl } from "../../src/domain/feed-url.ts";
import { lookupKey } from "../../src/domain/lookup-rules.ts";
import { silentLogger } from "../../src/log.ts";
import { readSession } from "../../src/services/accounts/sessions.ts";
import { signSession } from "../../src/services/accounts/signed-sessions.ts";
import { createUser, requireUser } from "../../src/services/accounts/users.ts";
import { copy } from "../../src/services/transfer.ts";
import { openTestApp, type TestApp } from "../support/app.ts";
import { databaseFile, sharedPostgres } from "../support/database.ts";
import { readOlderDatabase } from "../support/older-database.ts";
import { PATIENCE, until } from "../support/patience.ts";
import { playOf } from "../support/play.ts";
import { rejectionOf, settle } from "../support/rejection.ts";
import { ask, askAsApp, askAsDraft } from "./story.ts";

setDefaultTimeout(PATIENCE);

const Recorded = z.object({
  token: z.string(),
  answers: z.record(z.string(), z.looseObject({})),
  /** Responses to an app of the gPodder API; not recorded before 0008_page. */
  app: z.record(z.string(), z.unknown()).optional(),
  /** Responses to a client of the draft of the Open Podcast API; not recorded before 0017_draft. */
  draft: z.record(z.string(), z.unknown()).optional(),
});
async function readRecorded(version: string) {
  const text = await Bun.file(join(import.meta.dirname, `${version}.json`)).text();
  // A message for people, which has more reasons by now.
  return Recorded.parse(JSON.parse(text.replaceAll(/added again(?=")/g, "added again, merged or set to subscribed")));
}
const recorded = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith(".db.gz"))
  .map((name) => name.slice(0, -6));

test("the present schema version has a recorded database; `npm run record-schema` writes it", () => {
  expect(recorded).toContain(SCHEMA_VERSION);
});

let podkeep: TestApp;
const remove = async () => {
  await podkeep.app.close();
  rmSync(podkeep.folder, { recursive: true, force: true });
};

/** A log, and what it is told for information. */
function noteInfo() {
  const lines: unknown[] = [];
  return { lines, log: { ...silentLogger, info: (...line: unknown[]) => void lines.push(line) } };
}

/** Puts a recorded database into the data directory of a closed app. */
async function placeRecorded(version: string): Promise<void> {
  podkeep = await openTestApp({ open_podcast_draft: "on" });
  await podkeep.app.close();
  await Bun.write(databaseFile(podkeep.app.config), await readOlderDatabase(version));
}

async function openRecorded(version: string): Promise<void> {
  await placeRecorded(version);
  await podkeep.open();
}

/** Expects the recorded responses, and then one subscription more and the pending deletion done. */
async function expectUnchanged(app: TestApp, version: string): Promise<void> {
  const { token, answers, app: asApp, draft } = await readRecorded(version);
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const get = (path: string) => app.send("GET", path, { headers });
  expect(Object.keys(answers).length).toBeGreaterThan(10);
  expect(await ask(get)).toMatchObject(answers);
  if (asApp) expect<unknown>(await askAsApp(app.send)).toEqual(asApp);
  if (draft) expect<unknown>(await askAsDraft(app.send, token)).toEqual(draft);
  const before = (await get("/subscriptions")).body.total;
  const body = JSON.stringify({ subscriptions: [{ feed_url: "https://new.example/rss" }] });
  expect((await app.send("POST", "/subscriptions", { headers, body })).status).toBe(200);
  app.clock.advance(86_400_000);
  await app.drain();
  const { total, subscriptions } = (await get("/subscriptions")).body;
  expect(total).toBe(before + 1);
  expect(subscriptions.at(-1)).toMatchObject({
    feed_url: "https://pending.example/rss?key=s3cret",
    is_subscribed: false,
  });
}

describe.each(recorded)("a database of %s", (version) => {
  afterEach(remove);

  test("answers as it did, and takes changes", async () => {
    await openRecorded(version);
    await expectUnchanged(podkeep, version);
  });

  test("keeps every row: passwords, tokens, devices, what apps synced, plays and history", async () => {
    await placeRecorded(version);
    const before = await readTables();
    await podkeep.open();
    const after = withEpisodes(await readTables());
    expect(Object.keys(before).length).toBeGreaterThan(5);
    for (const [table, rows] of Object.entries(withEpisodes(before))) {
      const kept = (after[table] ?? []).map((row) => pick(row, Object.keys(rows[0] ?? {})));
      for (const row of rows) expect(kept).toContainEqual(row);
    }
  });
});

/** The rows of all tables of ours; a column by its present name, users and clients by what stays of them. */
async function readTables(): Promise<Record<string, Rows>> {
  const names = await podkeep.sql(`select name from sqlite_schema where type = 'table'
    and name not like 'sqlite_%' and name not like '${MIGRATION_TABLE}%'`);
  const tables: Record<string, Rows> = {};
  for (const { name } of names) {
    tables[String(name)] = (await podkeep.sql(`select * from ${name}`)).map(({ called_off, ...row }) =>
      called_off === undefined ? row : { ...row, cancelled: called_off },
    );
  }
  return withoutNumbers({ ...tables, ...separated(tables) });
}

/** Users by their public ids, and clients by token, device and product. */
function withoutNumbers(tables: Record<string, Rows>): Record<string, Rows> {
  const users = new Map(tables["users"]?.map(({ id, public_id }) => [id, public_id ?? id]));
  const clientKey = ({ user_id }: Rows[number], id: unknown) => `${users.get(user_id)} ${id}`;
  const clients = new Map(
    tables["clients"]?.flatMap((row) => {
      const { id, token_id, device, product } = row;
      const name = JSON.stringify([token_id, device, product]);
      return [id, numberOf(String(id))].map((one): [string, string] => [clientKey(row, one), name]);
    }),
  );
  const named = (table: string, row: Rows[number]) => {
    const column = table === "clients" ? "id" : ["cursors", "holdings", "plays"].includes(table) ? "client" : null;
    return {
      ...row,
      ...(table === "users" ? { id: users.get(row["id"]) } : {}),
      ...("user_id" in row ? { user_id: users.get(row["user_id"]) } : {}),
      ...(column ? { [column]: clients.get(clientKey(row, row[column])) ?? row[column] } : {}),
    };
  };
  return Object.fromEntries(Object.entries(tables).map(([name, rows]) => [name, rows.map((row) => named(name, row))]));
}

/** What databases up to 0010 had in clients and claims, as it is now. */
function separated({ clients = [], claims, cursors, holdings }: Record<string, Rows>): Record<string, Rows> {
  if (cursors && holdings) return { cursors, holdings };
  const positions = clients.flatMap((row) =>
    ["feeds", "episodes"].flatMap((stream) => {
      const [since, start, given] = ["since", "start", "given"].map((key) => row[`${stream}_${key}`] ?? null);
      if (given === null) return [];
      const own = Number(Number(start) % 1000 === 0);
      return { user_id: row["user_id"], client: row["id"], stream, since, start, own, given };
    }),
  );
  const held = (claims ?? []).map(({ replaced, subscribed, decided, told_again, ...row }) => ({
    ...row,
    other_url: replaced,
    reported: subscribed,
    decided: decided || null,
    resend_at: told_again || null,
  }));
  const known = clients.map(({ user_id, id, token_id, device, product, seen_at }) => {
    return { user_id, id, token_id, device, product, seen_at };
  });
  return { clients: known, claims: [], cursors: positions, holdings: held };
}

const ACTION = ["kind", "sent_at", "acted_at", "arrived_at", "started", "position", "total", "device"];

/** Each action with its episode, which had no rows before 0011_episodes; only a number is left of the client. */
function withEpisodes({ episode_actions = [], episodes, ...tables }: Record<string, Rows>): Record<string, Rows> {
  const actions = episode_actions.map((action) => {
    const of = (episode: Rows[number]) =>
      episode["user_id"] === action["user_id"] && episode["id"] === action["episode"];
    const { guid, url } = episodes?.find(of) ?? { ...action, url: action["episode_url"] };
    return { user_id: action["user_id"], guid, url, ...pick(action, ACTION) };
  });
  return { ...tables, ...(episodes && { episodes }), actions };
}

const pick = (row: Rows[number], columns: string[]) =>
  Object.fromEntries(columns.map((column) => [column, row[column]]));

describe("0011_episodes", () => {
  afterEach(remove);

  const KEPT = "https://kept.example/rss?key=s3cret";
  const WAITING = "https://waiting.example/rss";

  /** Inserts an action as they were before, `n` ms after the others. */
  async function insertOld(n: number, feed_url: string, episode_url: string, guid: string | null, position: number) {
    const named = `'${feed_url}', '${episode_url}', ${guid === null ? "null" : `'${guid}'`}`;
    await podkeep.sql(`insert into episode_actions (user_id, episode, kind, by_url, feed, feed_url, episode_url, guid,
      sent_at, acted_at, arrived_at, started, position, total, client)
      select id, 'e${n}', 'play', 'u${n}', '${hashFeedUrl(feed_url)}', ${named}, ${n}000, ${n}000,
      clock + ${n}, 0, ${position}, 100, 'app' from users where name = 'ann'`);
  }

  test("makes one episode of what was stored of it by URL, by http and https, and in merged feeds", async () => {
    await placeRecorded("0008_page");
    await insertOld(1, KEPT, "https://kept.example/1.mp3", "one", 11);
    await insertOld(2, KEPT, "http://kept.example/1.mp3", null, 12);
    await insertOld(3, "https://merged.example/rss?key=s3cret", "https://m.example/2.mp3", "two", 13);
    await insertOld(4, "https://into.example/rss?key=s3cret", "https://m.example/2.mp3", "two", 14);
    await insertOld(5, WAITING, "https://waiting.example/3.mp3", null, 15);
    await insertOld(6, KEPT, "https://kept.example/same.mp3", "three", 16);
    await insertOld(7, KEPT, "https://kept.example/same.mp3", "four", 17);
    await podkeep.sql("update users set clock = clock + 1000 where name = 'ann'");
    await podkeep.open();
    const { token } = await readRecorded("0008_page");
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const get = () => podkeep.send("GET", "/api/2/episodes/ann.json?since=0", { headers });
    const { body } = await get();
    const told = body.actions.map(({ podcast, guid, position }: Record<string, unknown>) => [podcast, guid, position]);
    expect(told.filter(([, guid]: unknown[]) => guid !== "episode").sort()).toEqual([
      ["https://into.example/rss?key=s3cret", "two", 14],
      [KEPT, "four", 17],
      [KEPT, "one", 12],
      [KEPT, "three", 16],
      [WAITING, undefined, 15],
    ]);
    const play = (feed_url: string, episode: string, position: number) =>
      playOf(feed_url, episode, { position, total: 100, timestamp: new Date(podkeep.clock.now()).toISOString() });
    podkeep.clock.advance(60_000);
    const sent = [
      play(KEPT, "https://kept.example/1.mp3", 21),
      play(KEPT, "https://kept.example/same.mp3", 22),
      play(WAITING, "https://waiting.example/3.mp3", 23),
    ];
    await podkeep.send("POST", "/api/2/episodes/ann.json", { headers, body: JSON.stringify(sent) });
    const again = (await get()).body.actions;
    expect(again).toHaveLength(body.actions.length);
    const places = again.map(({ guid, position }: Record<string, unknown>) => [guid, position]);
    for (const place of [
      ["one", 21],
      ["four", 22],
      [undefined, 23],
    ])
      expect(places).toContainEqual(place);
  });
});

describe("a podcast's URLs from before 0024_left_feeds", () => {
  afterEach(remove);

  test("lead to it once it is merged, also one that no app was told of", async () => {
    await placeRecorded("0023_retired_guids");
    const feed = hashFeedUrl("https://never-told.example/rss");
    await podkeep.sql(`insert into feeds (user_id, feed, subscription)
      select user_id, '${feed}', id from subscriptions where feed_url like 'https://left.%'`);
    await podkeep.open();
    const { token } = await readRecorded("0023_retired_guids");
    const send = async (method: string, path: string, body?: object) => {
      const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
      return (await podkeep.send(method, path, { headers, body: JSON.stringify(body) })).body;
    };
    const add = async (feed_url: string) =>
      (await send("POST", "/subscriptions", { subscriptions: [{ feed_url }] })).success[0].guid;
    const into = await add("https://into-this.example/rss");
    const left = "https://left.example/rss?key=s3cret";
    await send("PATCH", `/subscriptions/${await add(left)}`, { new_guid: into });
    for (const url of ["https://never-told.example/rss", left]) expect(await add(url)).toBe(into);
  });

  test("stay in the list of apps after a restore", async () => {
    await placeRecorded("0023_retired_guids");
    await podkeep.sql(`insert into feeds (user_id, feed, subscription)
      select user_id, 'never told', id from subscriptions where feed_url like 'https://kept.%'`);
    await podkeep.open();
    const { file } = await createBackup(podkeep.app.config, podkeep.clock);
    await podkeep.app.close();
    await restoreBackup(podkeep.app.config, podkeep.clock, file);
    await podkeep.open();
    const { changes } = await askAsApp(podkeep.send);
    expect(changes.body.add).toContain("https://kept.example/rss?key=s3cret");
  });

  test("are as many as would take an hour if each was looked for among all others", async () => {
    // The last schema without statistics.
    await placeRecorded("0010_sign_ins");
    const many = "with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 200000)";
    const rows = "from numbers join users on name = 'ann'";
    await podkeep.sql(`${many} insert into subscriptions
      (user_id, id, feed_url, guid, is_subscribed, subscription_changed, changed_at)
      select users.id, 1000 + n, 'https://many.example/' || n, 'guid' || n, 1, clock + n, clock + n ${rows}`);
    await podkeep.sql(`${many} insert into feeds (user_id, feed, subscription) select users.id, n, 1000 + n ${rows}`);
    await podkeep.sql(`${many} insert into feeds (user_id, feed, subscription)
      select users.id, 'other' || n, 1000 + n ${rows} where n <= 2`);
    await podkeep.open();
    const [found] = await podkeep.sql("select count(*) as count from feeds where left_at = 0");
    expect(found?.["count"]).toBe(4);
  });
});

describe("what apps have synced", () => {
  afterEach(remove);

  test("goes on after a copy to PostgreSQL", async () => {
    await openRecorded(SCHEMA_VERSION);
    await podkeep.app.close();
    const server = await sharedPostgres();
    await server.createDatabase("copied");
    const url = server.url("copied");
    await copy(databaseFile(podkeep.app.config), url, podkeep.app.config, () => {});
    const app = await openTestApp({ database_url: url, open_podcast_draft: "on" });
    await expectUnchanged(app, SCHEMA_VERSION);
    await app.close();
  });

  test("survives a restore, but for what apps were told: they get everything again", async () => {
    await openRecorded(SCHEMA_VERSION);
    const { file } = await createBackup(podkeep.app.config, podkeep.clock);
    const before = await readTables();
    await podkeep.app.close();
    await restoreBackup(podkeep.app.config, podkeep.clock, file);
    await podkeep.open();
    const { app = {}, draft, token } = await readRecorded(SCHEMA_VERSION);
    const { everything, done } = await askAsDraft(podkeep.send, token);
    const dataOf = (items: unknown) =>
      z
        .array(z.object({ data: z.unknown() }))
        .parse(items)
        .map(({ data }) => data);
    // In the same order, with new timestamps; an action that was done is not done again.
    expect(dataOf(everything)).toEqual(dataOf(draft?.["everything"]));
    const latest = Date.parse(
      z
        .array(z.looseObject({ last_updated: z.string() }))
        .parse(draft?.["everything"])
        .at(-1)?.last_updated ?? "",
    );
    for (const { last_updated } of everything) expect(Date.parse(last_updated)).toBeGreaterThan(latest);
    expect(done).toEqual(draft?.["done"]);
    const { devices, actions, list, changes } = await askAsApp(podkeep.send);
    expect<unknown>({ devices, actions }).toEqual({ devices: app["devices"], actions: app["actions"] });
    expect(changes.body.add.toSorted()).toEqual(list.body.toSorted());
    expect(list.body.length).toBeGreaterThan(5);
    const after = await readTables();
    for (const row of before["history"] ?? []) expect(after["history"]).toContainEqual(row);
  });
});

describe("0021_numbered_users", () => {
  afterEach(remove);

  test("ends no session of the page", async () => {
    await placeRecorded("0020_episode_pages");
    const [{ id = "" } = {}] = await podkeep.sql("select id from users where name = 'ann'");
    const key = "0123456789abcdef".repeat(4);
    const expires_at = podkeep.clock.now() + 86_400_000;
    await podkeep.sql(`update users set session_key = '${key}' where id = '${id}'`);
    await podkeep.sql(`insert into page_sessions (user_id, id, browser, created_at, seen_at, expires_at)
      values ('${id}', 'session', '', 0, 0, ${expires_at})`);
    const payload = { audience: "page", token_id: null, app: null, device: null, id: "session", expires_at } as const;
    const text = signSession(String(id), payload, key);
    await podkeep.open();
    expect(await readSession(podkeep.app, text, "page")).toMatchObject({ name: "ann" });
  });

  test("a backup from before it takes each user's own history from data where the numbers differ", async () => {
    await openRecorded("0020_episode_pages");
    await podkeep.app.close();
    const sqlite = new Sqlite(databaseFile(podkeep.app.config));
    for (const [name, { owner }] of Object.entries(tables)) {
      if (owner === null) continue;
      for (const number of [`-${owner}`, `${owner} + 3`]) sqlite.run(`update ${name} set ${owner} = ${number}`);
    }
    sqlite.run(`insert into history (user_id, changed_at, seq, at, what, actor_kind, actor_label)
      select id, clock + 1, 0, 0, 'kept', 'admin', 'later' from users where name = 'ann'`);
    sqlite.run("update users set clock = clock + 1");
    sqlite.close();
    const backup = join(podkeep.folder, "older.db");
    await Bun.write(backup, await readOlderDatabase("0020_episode_pages"));
    await restoreBackup(podkeep.app.config, podkeep.clock, backup);
    const found = await podkeep.sql(`select users.id, name from history join users on users.id = history.user_id
      where history.actor_label = 'later'`);
    expect(found).toEqual([{ id: 1, name: "ann" }]);
  });

  test("leaves a file that is not longer than before", async () => {
    await placeRecorded("0020_episode_pages");
    await podkeep.sql(`insert into episodes (user_id, id, podcast, url)
      with recursive n(n) as (select 100 union all select n + 1 from n where n < 40000)
      select id, n, 1, 'https://kept.example/' || n || '.mp3' from users, n where name = 'ann'`);
    const before = Bun.file(databaseFile(podkeep.app.config)).size;
    await podkeep.open();
    expect(Bun.file(databaseFile(podkeep.app.config)).size).toBeLessThan(before);
  });
});

describe("a database that needs a migration", () => {
  afterEach(remove);

  // Today's database without the record of its migrations: the first one fails, because its tables are there.
  async function openOutdated(): Promise<void> {
    await openRecorded(SCHEMA_VERSION);
    await podkeep.app.close();
    const sqlite = new Sqlite(databaseFile(podkeep.app.config));
    sqlite.run(`delete from ${MIGRATION_TABLE}`);
    sqlite.close();
  }

  test("is backed up first, and stays as it was if the migration fails", async () => {
    await openOutdated();
    const before = await Bun.file(databaseFile(podkeep.app.config)).bytes();
    expect(await settle(openApp(podkeep.app.config))).toThrow("could not be migrated");
    const backup = join(podkeep.folder, "backups", `podkeep-before-${SCHEMA_VERSION}.db`);
    expect((await verifyBackup(backup)).tables).toMatchObject({ users: 2, [MIGRATION_TABLE]: 0 });
    expect(await Bun.file(databaseFile(podkeep.app.config)).bytes()).toEqual(before);
  });

  test("is migrated by the server, whose log says so before and after, with both versions and the backup", async () => {
    await placeRecorded("0007_feed_lookups");
    const { log, lines } = noteInfo();
    const backup = join(podkeep.folder, "backups", `podkeep-before-${SCHEMA_VERSION}.db`);
    // As a start leaves it that was killed.
    await Bun.write(`${backup}.partial`, "the beginning of a backup");
    const app = await openApp(podkeep.app.config, { use: "server", log });
    await app.close();
    const versions = { from: "0007_feed_lookups", to: SCHEMA_VERSION };
    expect(lines).toEqual([
      [versions, "migrating the schema; a large database takes minutes"],
      [{ ...versions, backup }, "schema migrated"],
    ]);
    expect((await verifyBackup(backup)).schema).toBe("0007_feed_lookups");
    await (await openApp(podkeep.app.config, { use: "server", log })).close();
    expect(lines).toHaveLength(2);
  });

  test("is left alone if no backup can be made", async () => {
    await openOutdated();
    await Bun.write(join(podkeep.folder, "backups"), "in the way");
    expect(await settle(openApp(podkeep.app.config))).toThrow("No migration without a backup");
  });

  test("is not migrated by a command while a server runs on it", async () => {
    await openRecorded(SCHEMA_VERSION);
    await podkeep.app.close();
    const server = await openApp(podkeep.app.config, { use: "server" });
    await podkeep.sql(`delete from ${MIGRATION_TABLE}`);
    const config = { ...podkeep.app.config, busy_timeout: 50 };
    expect(await settle(openApp(config))).toThrow(
      "migrates the database now, or that is of an older version: wait, or stop it",
    );
    await server.close();
  });
});

type Rows = Record<string, unknown>[];

// PostgreSQL databases are not recorded: the first migration, a recorded file's rows and later migrations make one.
async function createOld(name: string, later: Record<string, Migration> = {}): Promise<string> {
  const server = await sharedPostgres();
  await server.createDatabase(name);
  const postgres = server.connect(name);
  const kysely = new Kysely<Record<string, Record<string, unknown>>>({
    dialect: new PostgresJSDialect({ postgres }),
  });
  const migrate = async (migrations: Record<string, Migration>) => {
    const { error } = await new Migrator({
      db: kysely,
      provider: { getMigrations: async () => migrations },
      migrationTableName: MIGRATION_TABLE,
      migrationLockTableName: `${MIGRATION_TABLE}_lock`,
    }).migrateToLatest();
    expect(error).toBeUndefined();
  };
  const first = { "0001_start": start(DIALECT) };
  await migrate(first);
  const file = Sqlite.deserialize(await readOlderDatabase("0001_start"));
  for (const table of ["users", "tokens", "subscriptions", "guids", "feeds", "deletions"]) {
    const all = file.query<Record<string, unknown>, []>(`select * from ${table}`).all() as Rows;
    await kysely.insertInto(table).values(all).execute();
  }
  file.close();
  await migrate({ ...first, ...later });
  await kysely.destroy();
  return server.url(name);
}

const sqlOn = async (name: string, text: string): Promise<Rows> => {
  const connection = (await sharedPostgres()).connect(name);
  try {
    return await connection.unsafe(text).simple();
  } finally {
    await connection.close();
  }
};

describe("0002_relax_checks", () => {
  const TABLES = ["tokens", "deletions"];

  describe("on a file", () => {
    afterEach(remove);

    const indexes = () =>
      podkeep.sql(`select name, sql from sqlite_schema where type = 'index' and tbl_name in ('tokens', 'deletions')
        order by name`);
    const foreignKeys = (table: string) => podkeep.sql(`pragma foreign_key_list(${table})`);
    // Later migrations add columns at the end, and number the users.
    const isLater = (column: string) => column.startsWith("actor_") || column === "user_id";
    const columns = async (table: string) =>
      (await podkeep.sql(`pragma table_info(${table})`))
        .filter(({ name }) => !isLater(String(name)))
        .map((column) => (column["name"] === "called_off" ? { ...column, name: "cancelled" } : column));
    const rows = async (table: string) =>
      (await podkeep.sql(`select * from ${table}`)).map((row) =>
        Object.entries(row).flatMap(([column, value]) => (isLater(column) ? [] : [value])),
      );
    const state = async () => ({
      indexes: await indexes(),
      foreignKeys: await Promise.all(TABLES.map(foreignKeys)),
      columns: await Promise.all(TABLES.map(columns)),
      rows: await Promise.all(TABLES.map(rows)),
    });

    test("keeps rows, columns, indexes and foreign keys, and takes scopes and statuses that come later", async () => {
      await placeRecorded("0001_start");
      const before = await state();
      await podkeep.open();
      expect(await state()).toEqual(before);
      expect(before.indexes.map(({ name }) => name)).toContain("deletions_pending");
      await podkeep.sql("update tokens set scope = 'later'");
      await podkeep.sql("update deletions set status = 'LATER' where id = 1");
      expect(await settle(podkeep.sql("update deletions set cancelled = 2"))).toThrow("CHECK");
    });
  });

  test("on PostgreSQL answers as it did, and takes scopes and statuses that come later", async () => {
    const app = await openTestApp({ database_url: await createOld("old") });
    await expectUnchanged(app, "0001_start");
    await app.close();
    await sqlOn("old", "update tokens set scope = 'later'; update deletions set status = 'LATER' where id = 1");
    expect(await settle(sqlOn("old", "update deletions set cancelled = 2"))).toThrow("deletions_cancelled_check");
  });

  test("on PostgreSQL is told in the log before and after, with both versions", async () => {
    const { log, lines } = noteInfo();
    const url = await createOld("old_log");
    for (let open = 0; open < 2; open++) await (await openTestApp({ database_url: url }, { log })).close();
    const versions = { from: "0001_start", to: SCHEMA_VERSION };
    expect(lines).toEqual([
      [versions, "migrating the schema; a large database takes minutes"],
      [{ ...versions, backup: null }, "schema migrated"],
    ]);
  });

  test("on PostgreSQL is told in the log of one of two servers that start at once; that of each says what it waits for", async () => {
    const { log, lines } = noteInfo();
    const url = await createOld("old_twice");
    const other = (await sharedPostgres()).connect("old_twice");
    await other.unsafe(`select pg_advisory_lock(${MIGRATION_LOCK})`);
    const opening = [1, 2].map(() => openTestApp({ database_url: url }, { log }));
    const waiting = `select from pg_locks join pg_database on pg_database.oid = database
      where datname = current_database() and locktype = 'advisory' and not granted`;
    await until(async () => (await other.unsafe(waiting)).length === 2);
    const wait = ["waiting until another server or podkeep migrate has migrated the database"];
    expect(lines).toEqual([wait, wait]);
    await other.close();
    for (const app of await Promise.all(opening)) await app.close();
    expect(lines.slice(2)).toEqual([
      [expect.anything(), "migrating the schema; a large database takes minutes"],
      [expect.anything(), "schema migrated"],
    ]);
  });

  test("on PostgreSQL is made again after a deadlock with what an older server reads", async () => {
    const url = await createOld("old_deadlock");
    // PostgreSQL ends the transaction that looks for a deadlock first.
    await sqlOn("old_deadlock", "alter database old_deadlock set deadlock_timeout = '2s'");
    const reader = (await sharedPostgres()).connect("old_deadlock");
    await reader.unsafe("set deadlock_timeout = '10min'; begin; select from deletions").simple();
    const opening = openTestApp({ database_url: url, database_timeout: "10m" });
    await until(async () => (await reader.unsafe("select from pg_locks where not granted")).length > 0);
    await reader.unsafe("select from tokens; commit").simple();
    const app = await opening;
    await expectUnchanged(app, "0001_start");
    await app.close();
    await reader.close();
  });

  test("on a database that was spread over Citus before answers as it did", async () => {
    const url = await createOld("old_citus");
    await sqlOn(
      "old_citus",
      `create function create_distributed_table(regclass, text, colocate_with text default 'default')
        returns void language sql as ''`,
    );
    await sqlOn("old_citus", await Bun.file(join(import.meta.dirname, "0001_start.citus.sql")).text());
    const app = await openTestApp({ database_url: url, open_podcast_draft: "on" });
    await expectUnchanged(app, "0001_start");
    await app.close();
  });
});

describe("0003_accounts", () => {
  const INSERT = `insert into users (id, name, clock, last_subscription, last_deletion, created_at) values
    ('u1', 'Zoë', 0, 0, 0, 3), ('u2', 'zoë', 0, 0, 0, 2), ('u3', 'ZOË', 0, 0, 0, 4), ('u4', 'Bo', 0, 0, 0, 1)`;

  /** Expects users whose names differ in case only to keep their names, and no further one to be created. */
  async function expectKept(app: TestApp): Promise<void> {
    const users = await app.sql("select name_key from users where public_id like 'u_' order by public_id");
    expect(users.map(({ name_key }) => name_key)).toEqual(["=Zoë", "zoë", "=ZOË", "bo"]);
    for (const [name, public_id] of [
      ["Zoë", "u1"],
      ["zoë", "u2"],
      ["ZOË", "u3"],
      ["zOË", "u2"],
      ["BO", "u4"],
    ] as const) {
      expect(await requireUser(app.app, name)).toMatchObject({ public_id });
    }
    expect(await rejectionOf(createUser(app.app, "zOË"))).toMatchObject({ code: "conflict" });
    expect(await rejectionOf(createUser(app.app, "bO"))).toMatchObject({ code: "conflict" });
  }

  describe("on a file", () => {
    afterEach(remove);

    test("opens with users whose names differ in case only", async () => {
      await placeRecorded("0002_relax_checks");
      await podkeep.sql(INSERT);
      await podkeep.open();
      await expectKept(podkeep);
    });
  });

  test("on PostgreSQL opens with users whose names differ in case only", async () => {
    const url = await createOld("old_names");
    await sqlOn("old_names", INSERT);
    const app = await openTestApp({ database_url: url });
    // The store of openTestApp() has another database.
    app.sql = (text) => sqlOn("old_names", text);
    await expectKept(app);
    await app.close();
  });
});

describe("0009_lookups_by_spelling", () => {
  afterEach(remove);

  test("keeps what lookups know of each feed URL, and has the walk find the other spellings", async () => {
    const urls = Array.from({ length: 1200 }, (_, n) => `https://${n}.example/rss/`);
    const values = urls.map((url) => `('${hashFeedUrl(url)}', '${url}', 5, 'Title of ${url}', 2, 0)`);
    await placeRecorded("0008_page");
    await podkeep.sql(
      `insert into feed_lookups (feed, feed_url, next_at, title, moved_seen, failures) values ${values.join()}`,
    );
    await podkeep.sql(
      "insert into feed_followers (feed, user_id) select feed, id from feed_lookups, users where name = 'ann'",
    );
    await podkeep.sql("insert into feed_walks (user_id, clock) select id, 7 from users where name = 'ann'");
    await podkeep.open();
    const rows = await podkeep.sql(`select feed, feed_url, title, moved_seen from feed_lookups`);
    expect(new Set(rows)).toEqual(
      new Set(urls.map((url) => ({ feed: lookupKey(url), feed_url: url, title: `Title of ${url}`, moved_seen: 2 }))),
    );
    const followers = await podkeep.sql("select feed from feed_followers");
    expect(followers.map(({ feed }) => feed).toSorted()).toEqual(urls.map(lookupKey).toSorted());
    expect(await podkeep.sql("select * from feed_walks")).toEqual([]);
  });
});

test("0027_long_spellings: on PostgreSQL the longest feed URL that a podcast left before is kept", async () => {
  const url = await createOld("old_spellings", {
    "0002_relax_checks": relaxChecks(DIALECT),
    "0003_accounts": accounts(DIALECT),
    "0004_titles": addTitles(DIALECT),
    "0005_app_sync": addAppSync(DIALECT),
  });
  const path = Array.from({ length: 125 }, (_, n) => Bun.SHA256.hash(String(n), "hex")).join("");
  await sqlOn("old_spellings", `update feeds set left_url = 'https://a.example/${path}'`);
  await (await openTestApp({ database_url: url })).close();
  const kept = await sqlOn("old_spellings", `select from spellings where feed_url = 'https://a.example/${path}'`);
  expect(kept.length).toBeGreaterThan(0);
});
