// Several servers on one database, which share the lookups.
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { openApp } from "../../src/app.ts";
import { readConfig } from "../../src/config/settings.ts";
import { type FeedUrl, readFeedUrl } from "../../src/domain/feed-url.ts";
import { LookupWorker } from "../../src/lookup/worker.ts";
import { createUser } from "../../src/services/accounts/users.ts";
import { actAsAdmin } from "../../src/services/actor.ts";
import { addSubscriptions } from "../../src/services/subscriptions/subscriptions.ts";
import { type Cluster, startCluster } from "../support/cluster.ts";
import { sharedPostgres } from "../support/database.ts";
import { PATIENCE } from "../support/patience.ts";

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
