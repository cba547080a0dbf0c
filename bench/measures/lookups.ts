// Latency of polls and memory while 10,000 feeds are due.
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { readFeedUrl } from "../../src/domain/feed-url.ts";
import { lookupKey } from "../../src/domain/lookup-rules.ts";
import { emptyPoll } from "../client.ts";
import { type Data, fill, insertRows } from "../data.ts";
import { start } from "../programs.ts";
import { type Bench, inTurn } from "../rounds.ts";
import type { Line } from "../table.ts";
import { runLoad } from "../wrk.ts";

const USERS = 50;
const FEEDS_EACH = 200;
const CONNECTIONS = 32;

export async function measureLookups(bench: Bench): Promise<Line[]> {
  let fetched = 0;
  const episodes = "<item><title>Episode</title></item>".repeat(1000);
  const feeds = Bun.serve({
    hostname: "0.0.0.0",
    port: 0,
    fetch({ url }) {
      fetched++;
      return new Response(`<rss><channel><title>${url}</title>${episodes}</channel></rss>`);
    },
  });
  const [due, idle] = [await newData(bench, "due", feeds.port ?? 0), await newData(bench, "idle", feeds.port ?? 0)];
  const env = { PODKEEP_FEED_LOOKUP: "on", PODKEEP_FEED_LOOKUP_POLL: "10ms", PODKEEP_FEED_LOOKUP_ALLOW: "127.0.0.0/8" };
  const on = await start(bench.programs, "podkeep", due, { env });
  const off = await start(bench.programs, "podkeep", idle);
  const slowest = async (url: string, { headers }: Data) => {
    const path = url + emptyPoll();
    return (await runLoad({ url: path, connections: CONNECTIONS, seconds: bench.seconds, headers })).p99;
  };
  const p99 = await inTurn(bench.rounds, { on: () => slowest(on.url, due), off: () => slowest(off.url, idle) });
  const memory = { on: on.memory(), off: off.memory() };
  await on.stop();
  await off.stop();
  feeds.stop(true);
  if (fetched === 0) throw new Error("No feed was looked up");
  return [
    {
      what: "poll p99, 10,000 feeds due; baseline: feed lookup off",
      podkeep: p99.on,
      baseline: p99.off,
      unit: "ms",
      goal: { most: 1.3 },
    },
    {
      what: "memory after that; baseline: feed lookup off",
      podkeep: memory.on,
      baseline: memory.off,
      unit: "MB",
      goal: { most: 1.3 },
    },
  ];
}

/** Users with feeds on this machine that are all due. */
async function newData(bench: Bench, name: string, port: number): Promise<Data> {
  const data = await fill(join(bench.folder, name), { users: USERS, subscriptions: 0 });
  const db = new Database(data.file, { readwrite: true });
  const users = db.query<{ id: number }, []>("select id from users").all();
  const lookup = db.query(
    "insert into feed_lookups (feed, feed_url, next_at, moved_seen, failures) values (?, ?, ?, 0, 0)",
  );
  const follower = db.query("insert into feed_followers (feed, user_id) values (?, ?)");
  const fillAll = db.transaction(() => {
    for (const [index, { id: user }] of users.entries()) {
      const rows = Array.from({ length: FEEDS_EACH }, (_, id) => makeRow(port, index * FEEDS_EACH + id, id + 1));
      insertRows(db, user, rows);
      for (const { feed_url, id } of rows) {
        const feed = lookupKey(feed_url);
        lookup.run(feed, feed_url, id);
        follower.run(feed, user);
      }
      db.run("update users set clock = ?, last_subscription = ? where id = ?", [FEEDS_EACH, FEEDS_EACH, user]);
      db.run("insert into feed_walks (user_id, clock) values (?, ?)", [user, FEEDS_EACH]);
    }
  });
  fillAll();
  db.close();
  return data;
}

function makeRow(port: number, n: number, id: number) {
  const feed_url = `http://127.0.${Math.floor(n / 200)}.${(n % 200) + 1}:${port}/rss`;
  const feed = readFeedUrl(feed_url);
  if ("message" in feed) throw new Error(feed.message);
  return { id, feed_url, feed: feed.hash, guid: feed.computed_guid, timestamp: id };
}
