// Adds: one item a request from many clients, on a fast and a slow disk, and many items in one request.
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { emptyPoll, send } from "../client.ts";
import { compareRates } from "../compare.ts";
import { type Data, feedUrl, fill, insertRows, makeRows } from "../data.ts";
import { type Server, type Side, start } from "../programs.ts";
import { type Bench, inTurn, median } from "../rounds.ts";
import type { Line } from "../table.ts";
import { addOne, runLoad } from "../wrk.ts";

const WRITERS = 64;
/** Clients that poll during the writes. */
const POLLERS = 4;
const ITEMS = 1000;

export async function measureWrites(bench: Bench): Promise<Line[]> {
  return [await measureAdds(bench), ...(await measureSlowDisk(bench)), await measureBulk(bench)];
}

const newData = (bench: Bench, name: string) =>
  fill(join(bench.folder, name), { users: WRITERS, subscriptions: 50, deletions: 0 });

let runs = 0;

/** Each add is on disk before its response. */
const adds = ({ headers }: Data) => ({
  url: "/subscriptions",
  connections: WRITERS,
  headers,
  send: { post: addOne(`run${runs++}`) },
});

async function measureAdds(bench: Bench): Promise<Line> {
  const data = { podkeep: await newData(bench, "adds"), bare: await newData(bench, "adds-bare") };
  const servers = {
    podkeep: await start(bench.programs, "podkeep", data.podkeep),
    bare: await start(bench.programs, "bare", data.bare),
  };
  const load = (side: Side) => adds(data[side]);
  const line = await compareRates(bench, { what: "adds, one item a POST", goal: { least: 0.7 }, servers, load });
  await servers.podkeep.stop();
  await servers.bare.stop();
  return line;
}

async function measureSlowDisk(bench: Bench): Promise<Line[]> {
  const data = { podkeep: await newData(bench, "slow"), bare: await newData(bench, "slow-bare") };
  const podkeep = await start(bench.programs, "podkeep", data.podkeep, { slow: true });
  const bare = await start(bench.programs, "bare", data.bare, { slow: true, group: 1 });
  const polls: number[] = [];
  const addsPerSecond = async ({ url }: Server, of: Data) => {
    const load = adds(of);
    return (await runLoad({ ...load, url: url + load.url, seconds: bench.seconds })).rate;
  };
  const rates = await inTurn(bench.rounds, {
    podkeep: async () => {
      const url = podkeep.url + emptyPoll();
      const { seconds } = bench;
      const [rate, poll] = await Promise.all([
        addsPerSecond(podkeep, data.podkeep),
        runLoad({ url, connections: POLLERS, seconds, headers: data.podkeep.headers }),
      ]);
      polls.push(poll.p99);
      return rate;
    },
    bare: () => addsPerSecond(bare, data.bare),
  });
  await podkeep.stop();
  await bare.stop();
  return [
    {
      what: "the same, fsync 10 ms slower; baseline: one add a commit",
      podkeep: rates.podkeep,
      baseline: rates.bare,
      unit: "requests/s",
      goal: { least: 20 },
    },
    { what: "polls during these adds, p99", podkeep: median(polls), baseline: null, unit: "ms", goal: { most: 30 } },
  ];
}

async function measureBulk(bench: Bench): Promise<Line> {
  const data = await fill(join(bench.folder, "bulk"), { users: 1, subscriptions: 0 });
  const raw = await fill(join(bench.folder, "bulk-raw"), { users: 1, subscriptions: 0 });
  const podkeep = await start(bench.programs, "podkeep", data);
  const db = new Database(raw.file, { readwrite: true });
  db.run("pragma synchronous = full");
  const user = db.query<{ id: number }, []>("select id from users").get()?.id ?? 0;
  let requests = 0;
  const times = await inTurn(bench.rounds * 10, {
    podkeep: () => {
      const name = `post${requests++}`;
      const subscriptions = Array.from({ length: ITEMS }, (_, index) => ({ feed_url: feedUrl(name, index) }));
      return timed(async () => (await send(podkeep, data, "/subscriptions", { subscriptions })).text());
    },
    raw: async () => {
      const rows = makeRows(ITEMS, `raw${requests}`, requests * ITEMS);
      return timed(async () => db.transaction(() => insertRows(db, user, rows)).immediate());
    },
  });
  await podkeep.stop();
  db.close();
  const what = "POST of 1,000 items; baseline: inserts without a server";
  return { what, podkeep: times.podkeep, baseline: times.raw, unit: "ms", goal: { most: 3 } };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}
