// Several servers on one database, which share the lookups.
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { type App, openApp } from "../../src/app.ts";
import { readConfig } from "../../src/config/settings.ts";
import { type FeedUrl, readFeedUrl } from "../../src/domain/feed-url.ts";
import { createLookupContext } from "../../src/lookup/context.ts";
import { lookUp } from "../../src/lookup/lookup.ts";
import { lookUpNow } from "../../src/lookup/lookup-now.ts";
import { walkUsers } from "../../src/lookup/walk.ts";
import { LookupWorker } from "../../src/lookup/worker.ts";
import { deleteUser } from "../../src/services/accounts/user-deletion.ts";
import { createUser } from "../../src/services/accounts/users.ts";
import { type Actor, actAsAdmin } from "../../src/services/actor.ts";
import { addSubscriptions, unsubscribe } from "../../src/services/subscriptions/subscriptions.ts";
import { listDueLookups } from "../../src/store/feed-lookups.ts";
import { afterStatements } from "../support/after-statements.ts";
import { beforeWrites } from "../support/before-writes.ts";
import { type Cluster, startCluster } from "../support/cluster.ts";
import { sharedPostgres } from "../support/database.ts";
import { validFeed } from "../support/feed-url.ts";
import { PATIENCE, until } from "../support/patience.ts";
import { rejectionOf } from "../support/rejection.ts";
import { withMethods } from "../support/with-methods.ts";

setDefaultTimeout(PATIENCE);

const FEEDS = 16;
const RSS = "<rss><channel><title>A Show</title></channel></rss>";

let fetched: string[];
let server: ReturnType<typeof Bun.serve>;
let cluster: Cluster | undefined;
beforeEach(() => {
  fetched = [];
  server = Bun.serve({
    hostname: "0.0.0.0",
    port: 0,
    async fetch(request) {
      fetched.push(request.url);
      await Bun.sleep(10);
      return new Response(RSS);
    },
  });
});
afterEach(async () => {
  await cluster?.close();
  cluster = undefined;
  server.stop(true);
});

let databases = 0;
async function newDatabase() {
  const postgres = await sharedPostgres();
  const name = `lookups${++databases}`;
  await postgres.createDatabase(name, "migrated");
  const settings = { database_url: postgres.url(name), feed_lookup: "on", feed_lookup_allow: "127.0.0.0/8" };
  return { settings, connection: postgres.connect(name) };
}

const url = (n: number) => `http://127.0.0.${(n % 200) + 1}:${server.port}/${n}`;

test("two servers on PostgreSQL read every feed, none of them twice", async () => {
  const { settings, connection } = await newDatabase();
  cluster = await startCluster(2, { ...settings, feed_lookup_poll: "50ms" });
  // A user each, because a user's new feeds are read one after the other.
  for (let n = 0; n < FEEDS; n++) await (await cluster.client(`user${n}`)).add(url(n));
  const titles = async () => (await connection.unsafe("select title from subscriptions where title = 'A Show'")).length;
  while ((await titles()) < FEEDS) await Bun.sleep(50);
  await connection.close();
  expect(fetched.toSorted()).toEqual([...new Set(fetched)].toSorted());
  expect(fetched).toHaveLength(FEEDS);
});

test("nor if both look for due feeds at the same moment, again and again", async () => {
  const { settings, connection } = await newDatabase();
  const { config } = readConfig(settings, {});
  // It stands still: what is found isn't due before all of it is.
  const now = Date.now();
  const clock = { now: () => now, sleep: async () => {} };
  const apps = [await openApp(config, { clock }), await openApp(config, { clock })];
  const [first, second] = apps.map((app) => new LookupWorker(app));
  await createUser(apps[0]!, "ann");
  const items = Array.from({ length: 200 }, (_, n) => ({ feed: readFeedUrl(url(n)) as FeedUrl, guid: null }));
  await addSubscriptions(apps[0]!, await actAsAdmin(apps[0]!, "ann", "test"), items);
  await first?.drain();
  await connection.unsafe("update feed_lookups set next_at = 1");
  await Promise.all([first?.drain(), second?.drain()]);
  expect(fetched.toSorted()).toEqual([...new Set(fetched)].toSorted());
  expect(fetched).toHaveLength(200);
  await connection.close();
  for (const app of apps) await app.close();
});

/** An app that calls `act` once, in a transaction and after the first statement of this kind. */
function afterStatement(app: App, kind: RegExp, act: () => Promise<void>): App {
  let isDone = false;
  const database = withMethods(app.database, {
    write: (work, queue) =>
      app.database.write((tx) => {
        const watched = afterStatements(tx, async (_, { sql }) => {
          if (isDone || !kind.test(sql)) return;
          isDone = true;
          await act();
        });
        return work(watched);
      }, queue),
  });
  return { ...app, database };
}

const contextOf = (app: App) => createLookupContext(app, new AbortController().signal);

/** Two servers on a database where bob and ann are subscribed to a feed; if `isKnown`, ann's is found. */
async function openServers(isKnown: boolean) {
  const { settings, connection } = await newDatabase();
  const { config } = readConfig(settings, {});
  const [one, other] = [await openApp(config), await openApp(config)];
  const feed = validFeed(url(1));
  for (const name of ["bob", "ann"]) await createUser(one, name);
  const [bob, ann] = [await actAsAdmin(one, "bob", "test"), await actAsAdmin(one, "ann", "test")];
  await addSubscriptions(one, ann, [{ feed, guid: null }]);
  if (isKnown) await walkUsers(contextOf(one));
  await addSubscriptions(one, bob, [{ feed, guid: null }]);
  const isWaiting = async () => (await connection.unsafe("select from pg_locks where not granted")).length > 0;
  return {
    one,
    other,
    ann,
    feed,
    /** Starts something, and waits until it is over or waits for a lock. @returns its end */
    async start(act: () => Promise<unknown>): Promise<{ end: Promise<unknown> }> {
      let isOver = false;
      const end = act().finally(() => {
        isOver = true;
      });
      await until(async () => isOver || (await isWaiting()));
      return { end };
    },
    known: async () => (await connection.unsafe("select feed_url from feed_lookups")).length,
    async close() {
      await connection.close();
      for (const app of [one, other]) await app.close();
    },
  };
}

test.each<[why: string, isKnown: boolean, forget: (app: App, ann: Actor, feed: FeedUrl) => Promise<unknown>]>([
  ["its only other user is deleted", true, (app) => deleteUser(app, "ann")],
  ["it is looked up first, for a user who is deleted", false, (app) => deleteUser(app, "ann")],
  [
    "its only other user unsubscribes",
    true,
    async (app, ann, feed) => {
      await unsubscribe(app, ann, [feed], { dry_run: false });
      const [row] = await app.database.read((tx) => listDueLookups(tx, { now: Number.MAX_SAFE_INTEGER, limit: 1 }));
      if (row) await lookUp(contextOf(app), row);
    },
  ],
])("a feed is looked up for a user whom one server finds while on another one %s", async (_, isKnown, forget) => {
  const { one, other, ann, feed, start, known, close } = await openServers(isKnown);
  let forgetting: { end: Promise<unknown> } | undefined;
  const startForgetting = async () => {
    forgetting = await start(() => forget(other, ann, feed));
  };
  const finding = isKnown
    ? afterStatement(one, /"feed_lookups"/, startForgetting)
    : afterStatement(
        afterStatement(one, /"feed_lookups"/, async () => void (await lookUpNow(other, ann, feed))),
        /insert into "feed_lookups"/,
        startForgetting,
      );
  await walkUsers(contextOf(finding));
  await forgetting?.end;
  expect(await known()).toBe(1);
  await close();
});

test("nothing is left of a feed whose only two users are deleted at the same moment", async () => {
  const { one, other, start, known, close } = await openServers(true);
  await walkUsers(contextOf(one));
  let deleting: { end: Promise<unknown> } | undefined;
  const first = afterStatement(one, /delete from "feed_lookups"/, async () => {
    deleting = await start(() => deleteUser(other, "bob"));
  });
  await deleteUser(first, "ann");
  await deleting?.end;
  expect(await known()).toBe(0);
  await close();
});

test("nothing is left of a feed that an admin has looked up for a user who is deleted at that moment", async () => {
  const { one, other, ann, feed, known, close } = await openServers(false);
  await deleteUser(other, "bob");
  const late = beforeWrites(one, async () => deleteUser(other, "ann").catch(() => {}));
  expect(await rejectionOf(lookUpNow(late, ann, feed))).toMatchObject({ code: "unauthorized" });
  expect(await known()).toBe(0);
  await close();
});
