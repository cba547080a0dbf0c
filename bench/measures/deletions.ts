// Time for 10,000 pending deletions, and latency of polls during them.
import { join } from "node:path";
import { send } from "../client.ts";
import { fill, settle } from "../data.ts";
import { start } from "../programs.ts";
import { type Bench, median, percentile } from "../rounds.ts";
import type { Line } from "../table.ts";

const POLLERS = 4;

export async function measureDeletions(bench: Bench): Promise<Line[]> {
  const seconds: number[] = [];
  const p99: number[] = [];
  for (let round = 0; round < bench.rounds; round++) {
    const data = await fill(join(bench.folder, `deletions${round}`), { users: 50, subscriptions: 200, deletions: 200 });
    const begin = performance.now();
    const server = await start(bench.programs, "podkeep", data);
    const latencies: number[] = [];
    let done = false;
    const poll = async () => {
      while (!done) {
        const sent = performance.now();
        await (await send(server, data, "/subscriptions?since=2100-01-01T00:00:00Z")).text();
        latencies.push(performance.now() - sent);
      }
    };
    const pollers = Array.from({ length: POLLERS }, poll);
    await settle(data);
    seconds.push((performance.now() - begin) / 1000);
    done = true;
    await Promise.all(pollers);
    p99.push(percentile(latencies, 99));
    await server.stop();
  }
  return [
    {
      what: "10,000 pending deletions, from start to last one",
      podkeep: median(seconds),
      baseline: null,
      unit: "s",
      goal: { most: 5 },
    },
    { what: "polls during these deletions, p99", podkeep: median(p99), baseline: null, unit: "ms", goal: { most: 20 } },
  ];
}
