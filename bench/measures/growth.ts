// Response times with much data, compared with little.
import { join } from "node:path";
import { ask, readPage, send } from "../client.ts";
import { type Data, feedUrl, fill } from "../data.ts";
import { freePort, type Server, start } from "../programs.ts";
import { type Bench, inTurn, median } from "../rounds.ts";
import type { Line } from "../table.ts";
import { runLoad } from "../wrk.ts";

const CONNECTIONS = 32;
const goal = { most: 1.3 };

export async function measureGrowth(bench: Bench): Promise<Line[]> {
  return [...(await measureUsers(bench)), await measureDepth(bench), await measureMetrics(bench)];
}

async function typicalTime({ seconds }: Bench, server: Server, { headers }: Data, path: string): Promise<number> {
  const load = { url: new URL(path, server.url).href, connections: CONNECTIONS, seconds, headers };
  return (await runLoad(load)).p50;
}

async function measureUsers(bench: Bench): Promise<Line[]> {
  const few = await fill(join(bench.folder, "few"), { users: 10, subscriptions: 200 });
  const many = await fill(join(bench.folder, "many"), { users: 10_000, subscriptions: 200 });
  const small = await start(bench.programs, "podkeep", few);
  const large = await start(bench.programs, "podkeep", many);
  const compare = async (what: string, path: string): Promise<Line> => {
    const measures = {
      large: () => typicalTime(bench, large, many, path),
      small: () => typicalTime(bench, small, few, path),
    };
    // Not the first requests of 10,000 users: they read pages of the file that later ones find in memory.
    await inTurn(1, measures);
    const times = await inTurn(bench.rounds, measures);
    return { what, podkeep: times.large, baseline: times.small, unit: "ms", goal };
  };
  // Not the first page: that one writes until a user has asked for it sixteen times, which ten users soon have.
  const { next = "" } = await readPage(small, few, "/subscriptions?per_page=50");
  const { pathname, search } = new URL(next);
  const lines = [
    await compare("poll p50, 10,000 users; baseline: 10 users", `/subscriptions?since=${new Date().toISOString()}`),
    await compare("second page p50, 10,000 users; baseline: 10 users", pathname + search),
  ];
  await small.stop();
  await large.stop();
  return lines;
}

async function measureDepth(bench: Bench): Promise<Line> {
  const data = await fill(join(bench.folder, "deep"), { users: 1, subscriptions: 50_000 });
  const server = await start(bench.programs, "podkeep", data);
  const first = "/subscriptions?per_page=50";
  let last = first;
  for (let next: string | undefined = first; next; next = (await readPage(server, data, next)).next) last = next;
  const times = await inTurn(bench.rounds, {
    last: () => typicalTime(bench, server, data, last),
    first: () => typicalTime(bench, server, data, first),
  });
  await server.stop();
  const what = "last page of 50,000 items, p50; baseline: first page";
  return { what, podkeep: times.last, baseline: times.first, unit: "ms", goal };
}

/** With a change before each request, after which the subscriptions of its user are counted again. */
async function measureMetrics(bench: Bench): Promise<Line> {
  const data = await fill(join(bench.folder, "counted"), { users: 1250, subscriptions: 200 });
  const address = `127.0.0.1:${freePort()}`;
  const server = await start(bench.programs, "podkeep", data, { env: { PODKEEP_METRICS_LISTEN: address } });
  const times: number[] = [];
  for (let n = 0; n <= bench.rounds * 10; n++) {
    await (await send(server, data, "/subscriptions", { subscriptions: [{ feed_url: feedUrl("counted", n) }] })).text();
    const begin = performance.now();
    await (await ask(`http://${address}/metrics`)).text();
    // The first one counts them all.
    if (n > 0) times.push(performance.now() - begin);
  }
  await server.stop();
  const what = "metrics of 250,000 subscriptions";
  return { what, podkeep: median(times), baseline: null, unit: "ms", goal: { most: 5 } };
}
