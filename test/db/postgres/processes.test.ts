// Several servers on one database, which behave as one.
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { App } from "../../../src/app.ts";
import { SCHEMA_VERSION } from "../../../src/db/migrations/migrate.ts";
import { tables } from "../../../src/db/tables.ts";
import { connectApp } from "../../../src/services/accounts/connect-links.ts";
import { approveLoginFlow, startLoginFlow } from "../../../src/services/accounts/login-flow.ts";
import { createPasswordLink } from "../../../src/services/accounts/password-links.ts";
import { setPassword } from "../../../src/services/accounts/passwords.ts";
import { createSession, endAppSession } from "../../../src/services/accounts/sessions.ts";
import { revokeToken } from "../../../src/services/accounts/tokens.ts";
import { type Actor, actAsAdmin } from "../../../src/services/actor.ts";
import { LONG } from "../../faults/rounds.ts";
import { guidOf } from "../../support/app.ts";
import { type Client, type Cluster, Reader, type Reply, startCluster, startProcess } from "../../support/cluster.ts";
import { sharedPostgres } from "../../support/database.ts";
import { fieldValue } from "../../support/fields.ts";
import { PATIENCE, until } from "../../support/patience.ts";

setDefaultTimeout(PATIENCE);

let cluster: Cluster | undefined;
afterEach(async () => {
  await cluster?.close();
  cluster = undefined;
});

let count = 0;
async function newDatabase(template?: string): Promise<{ name: string; url: string }> {
  const server = await sharedPostgres();
  const name = `processes${++count}`;
  await server.createDatabase(name, template);
  return { name, url: server.url(name) };
}

async function start(size: number, settings = {}) {
  const { name, url } = await newDatabase("migrated");
  cluster = await startCluster(size, { database_url: url, database_pool: "4", deletion_poll: "100ms", ...settings });
  const connect = async () => (await sharedPostgres()).connect(name);
  const sql = async (text: string): Promise<Item[]> => {
    const connection = await connect();
    const rows = await connection.unsafe(text);
    await connection.close();
    return rows;
  };
  return { cluster, sql, connect };
}

// biome-ignore lint/suspicious/noExplicitAny: rows of every shape
type Item = any;

const times = <T>(length: number, make: (n: number) => T) => Array.from({ length }, (_, n) => make(n));

/** An app that adds, changes, moves and deletes podcasts, some of them those of other apps. */
async function writeAlong(client: Client, phone: number): Promise<void> {
  for (let round = 0; round < 15; round++) {
    const own = phone * 1000 + round;
    await client.add(`https://a.example/${own}`, guidOf(own));
    await client.add(`https://shared.example/${round % 5}`);
    await client.request("PATCH", `/subscriptions/${guidOf(own)}`, { is_subscribed: round % 2 === 0 });
    if (round % 3 === 0)
      await client.request("PATCH", `/subscriptions/${guidOf(own)}`, { new_guid: guidOf(own + 500) });
    if (round % 5 === 0) await client.request("DELETE", `/subscriptions/${guidOf(own)}`);
    if (round % 7 === 0)
      await client.request("PATCH", `/subscriptions/${guidOf(own)}`, { new_guid: guidOf(1000 + round) });
  }
}

test.each(LONG ? [2, 3] : [3])("%i servers: under writers on all of them every reader converges", async (size) => {
  const { cluster } = await start(size);
  for (const user of await Promise.all(["ann", "bob"].map((name) => cluster.client(name)))) {
    const readers = [1, 7, 50].map((per_page) => new Reader(user, per_page));
    let writing = true;
    const reading = readers.map(async (reader) => {
      while (writing) await reader.catchUp();
    });
    await Promise.all(times(2 * size, (phone) => writeAlong(user, phone + 1)));
    writing = false;
    await Promise.all(reading);
    await awaitDeletions((path) => user.request("GET", path));
    const fresh = new Reader(user, 500);
    for (const reader of [...readers, fresh]) await until(() => reader.catchUp());
    expect(fresh.known.size).toBeGreaterThan(20);
    const places = [...fresh.known.values()].map((item) => [
      item.subscription_changed,
      item.guid_changed,
      item.deleted,
    ]);
    expect(new Set(places.map((stamps) => stamps.filter(Boolean).sort().at(-1))).size).toBe(places.length);
    for (const reader of readers) expect(Object.fromEntries(reader.known)).toEqual(Object.fromEntries(fresh.known));
  }
});

/** Waits until none of the user's deletions is pending. */
async function awaitDeletions(ask: (path: string) => Promise<Reply>): Promise<void> {
  for (let id = 1; ; id++) {
    for (;;) {
      const { status, body } = await ask(`/deletions/${id}`);
      if (status === 404) return;
      if (status === 200 && body.status !== "PENDING") break;
      await Bun.sleep(20);
    }
  }
}

test("every server refuses a revoked token at the next request, and takes a new one", async () => {
  const { cluster } = await start(3);
  const user = await cluster.client("ann");
  const ask = () => Promise.all([0, 1, 2].map((at) => user.request("GET", "/subscriptions", undefined, at)));
  expect((await ask()).map(({ status }) => status)).toEqual([200, 200, 200]);
  await revokeToken(cluster.app, user.token_id);
  expect((await ask()).map(({ status }) => status)).toEqual([401, 401, 401]);
});

const NO_SESSION = { name: "ann", podcasts: 0, password_hash: null, hash: "hash", id: null, expires_at: 1 };
const KASTS = { label: "Kasts", kind: "kasts", server: "", user: "ann" };

test.each<[string, (app: App, actor: Actor) => Promise<unknown>]>([
  ["signs in", (app, actor) => createSession(app, actor, "page")],
  ["signs out", (app, actor) => endAppSession(app, { ...NO_SESSION, actor })],
  ["connects an app", (app, actor) => connectApp(app, actor, "nonce", KASTS)],
  ["gets a link to choose a password", (app, actor) => createPasswordLink(app, actor)],
  [
    "allows an app",
    async (app, actor) => {
      const { page } = await startLoginFlow(app, { label: "Kasts", address: "192.0.2.1" });
      await approveLoginFlow(app, actor, page);
    },
  ],
])("who %s while another server deletes the user is told so", async (_, act) => {
  const { cluster, sql, connect } = await start(1);
  await cluster.client("ann");
  const actor = await actAsAdmin(cluster.app, "ann", "test");
  // Makes the user's key.
  await createSession(cluster.app, actor, "page");
  const other = await connect();
  await other.unsafe("begin");
  await other.unsafe("delete from users");
  const done = act(cluster.app, actor).catch((error: unknown) => error);
  await until(async () => (await sql("select 1 from pg_locks where not granted")).length > 0);
  await other.unsafe("commit");
  await other.close();
  expect(await done).toMatchObject({ name: "DomainError", message: expect.stringMatching(/user/) });
});

test("a user of the page who reaches another server each time connects an app, by a link that works once", async () => {
  // A link is only for an address that a phone can reach.
  const { cluster } = await start(3, { public_url: "https://podkeep.example" });
  await cluster.client("ann");
  await setPassword(cluster.app, await actAsAdmin(cluster.app, "ann", "test"), "correct horse");
  let cookie = "";
  const send = async (at: number, path: string, fields?: Record<string, string>) => {
    const response = await fetch((cluster.processes[at]?.address ?? "") + path, {
      // No code is drawn for a server that is on this machine only.
      headers: { Cookie: cookie, Host: "podkeep.test" },
      redirect: "manual",
      ...(fields && { method: "POST", body: new URLSearchParams(fields) }),
    });
    cookie = response.headers.getSetCookie()[0]?.split(";")[0] ?? cookie;
    return response.text();
  };
  const tokenIn = (page: string) => /podkeep_[a-z0-9_]{44,}/.exec(page)?.[0] ?? "none";
  await send(0, "/sign-in", { name: "ann", password: "correct horse" });
  const nonce = fieldValue(await send(1, "/connect?app=kasts"), "nonce");
  const form = { app: "kasts", device: "laptop", nonce };
  const pages = await Promise.all([0, 1, 2].map((at) => send(at, "/connect", form)));
  const token = tokenIn(pages[0] ?? "");
  expect(pages.map(tokenIn)).toEqual([token, token, token]);
  const link = /\/connect\/[0-9a-f]{32}/.exec(pages[0] ?? "")?.[0] ?? "";
  cookie = "";
  const opened = await Promise.all([0, 1, 2, 0, 1, 2].map((at) => send(at, link, {})));
  expect(opened.map(tokenIn).sort()).toEqual(["none", "none", "none", "none", "none", token]);
});

test("after a server is killed the others finish its deletions, each exactly once", async () => {
  const { cluster, sql, connect } = await start(3, { deletion_pause: "2s" });
  const user = await cluster.client("ann");
  const [amount, before] = [60, 20];
  await sql("create table done (subscription bigint)");
  // Deletions wait for the lock once some are done: a server is killed between them, however slow the machine is.
  await sql(`create function note() returns trigger language plpgsql as $$ begin
    if (select count(*) from done) >= ${before} then perform pg_advisory_xact_lock_shared(1); end if;
    insert into done values (new.id); return new; end $$`);
  await sql(
    "create trigger note after update of deleted on subscriptions for each row when (new.deleted is not null) execute function note()",
  );
  const subscriptions = times(amount, (n) => ({ feed_url: `https://a.example/${n}`, guid: guidOf(n) }));
  await user.request("POST", "/subscriptions", { subscriptions });
  const holder = await connect();
  await holder.unsafe("select pg_advisory_lock(1)");
  const requests = times(amount, (n) => user.request("DELETE", `/subscriptions/${guidOf(n)}`, undefined, 1));
  while ((await sql("select 1 from done")).length < before) await Bun.sleep(5);
  await cluster.processes[0]?.kill();
  await holder.close();
  await Promise.all(requests);
  await awaitDeletions((path) => user.request("GET", path, undefined, 1));
  const done = (await sql("select subscription from done")).map(({ subscription }) => Number(subscription));
  expect(done.length).toBe(amount);
  expect(new Set(done).size).toBe(amount);
  expect(await sql("select distinct status from deletions")).toEqual([{ status: "SUCCESS" }]);
});

/** What apps send, each with the status of its response. */
async function useEverything(user: Client, name: string, at: number): Promise<string[]> {
  const requests: [method: string, path: string, body?: unknown][] = [
    ["GET", "/subscriptions?per_page=2"],
    ["POST", "/subscriptions", { subscriptions: [{ feed_url: "https://a.example/rss", guid: guidOf(1) }] }],
    ["PATCH", `/subscriptions/${guidOf(1)}`, { new_feed_url: `https://a.example/${crypto.randomUUID()}` }],
    ["PATCH", `/subscriptions/${guidOf(1)}`, { new_guid: guidOf(2) }],
    ["PATCH", `/subscriptions/${guidOf(2)}`, { new_guid: guidOf(1) }],
    ["GET", `/subscriptions/${guidOf(1)}`],
    ["DELETE", `/subscriptions/${guidOf(1)}`],
    ["GET", "/deletions/1"],
    ["POST", `/api/2/devices/${name}/phone${at}.json`, { caption: "phone", type: "mobile" }],
    ["GET", `/api/2/devices/${name}.json`],
    ["GET", `/api/2/subscriptions/${name}/phone${at}.json?since=0`],
    [
      "POST",
      `/api/2/subscriptions/${name}/phone${at}.json`,
      { add: ["https://b.example/rss", `https://b.example/${crypto.randomUUID()}`], remove: ["https://c.example/rss"] },
    ],
    ["PUT", `/subscriptions/${name}/phone${at}.json`, ["https://b.example/rss", `https://c.example/${at}`]],
    ["GET", `/index.php/apps/gpoddersync/subscriptions?since=${Math.floor(Date.now() / 1000)}`],
    ...[1, 2].map((position): [string, string, unknown] => [
      "POST",
      "/index.php/apps/gpoddersync/episode_action/create",
      [
        {
          podcast: "https://b.example/rss",
          episode: "https://b.example/1",
          guid: `${at}`,
          action: "play",
          timestamp: `2026-01-01T00:00:0${position}`,
          started: 0,
          position,
          total: 9,
        },
      ],
    ]),
    ["GET", `/api/2/episodes/${name}.json?since=0`],
    ["GET", `/api/2/episodes/${name}.json?since=0&aggregated=true`],
  ];
  const statuses: string[] = [];
  for (const [method, path, body] of requests) {
    const { status } = await user.request(method, path, body, at);
    statuses.push(`${method} ${path.split("?")[0]} ${status}`);
  }
  return statuses;
}

describe("while a newer version's migration changes the schema, servers of this version serve all requests", () => {
  test.each([
    ["adds a column to every table", Object.keys(tables).map((name) => `alter table ${name} add column later text`)],
    [
      "changes the types of columns",
      ["subscriptions.title", "subscriptions.feed_url", "history.title", "deletions.message", "tokens.label"].map(
        (column) => `alter table ${column.replace(".", " alter column ")} type varchar`,
      ),
    ],
  ])("when it %s", async (_, migration) => {
    const { cluster, sql } = await start(2);
    const users = await Promise.all(
      times(6, async (n) => ({ name: `user${n}`, client: await cluster.client(`user${n}`) })),
    );
    const serve = async () => {
      const runs = await Promise.all(users.map(({ name, client }, n) => useEverything(client, name, n % 2)));
      expect(runs.flat().filter((line) => !/ 20[0-9]$/.test(line))).toEqual([]);
    };
    await serve();
    await serve();
    for (const statement of migration) await sql(statement);
    await serve();
  });
});

test("servers that start at the same time on an empty database migrate it once", async () => {
  const { name, url } = await newDatabase();
  const processes = await Promise.all(times(3, () => startProcess({ database_url: url })));
  await Promise.all(processes.map((one) => one.kill()));
  const connection = (await sharedPostgres()).connect(name);
  const [row] = await connection.unsafe("select max(name) as newest from podkeep_migration");
  expect(row.newest).toBe(SCHEMA_VERSION);
  await connection.close();
});
