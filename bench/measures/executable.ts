// Start time and memory of the executable.
import { join } from "node:path";
import { type Data, fill } from "../data.ts";
import { type Side, start } from "../programs.ts";
import { type Bench, inTurn } from "../rounds.ts";
import type { Line } from "../table.ts";
import { addOne, runLoad } from "../wrk.ts";

export async function measureExecutable(bench: Bench): Promise<Line[]> {
  const data = await fill(join(bench.folder, "executable"), { users: 10, subscriptions: 200 });
  return [await measureStart(bench, data), await measureIdle(bench, data), await measureLoaded(bench, data)];
}

async function measureStart(bench: Bench, data: Data): Promise<Line> {
  const startOnce = async (side: Side) => {
    const server = await start(bench.programs, side, data);
    await server.stop();
    return server.started;
  };
  const { podkeep, bare } = await inTurn(bench.rounds * 2, {
    podkeep: () => startOnce("podkeep"),
    bare: () => startOnce("bare"),
  });
  return { what: "start to first response", podkeep, baseline: bare, unit: "ms", goal: { most: 3 } };
}

async function measureIdle(bench: Bench, data: Data): Promise<Line> {
  const idle = async (side: Side) => {
    const server = await start(bench.programs, side, data);
    await Bun.sleep(2000);
    const memory = server.memory();
    await server.stop();
    return memory;
  };
  const { podkeep, bare } = await inTurn(bench.rounds, { podkeep: () => idle("podkeep"), bare: () => idle("bare") });
  return { what: "memory, idle", podkeep, baseline: bare, unit: "MB", goal: { most: 1.7 } };
}

async function measureLoaded(bench: Bench, data: Data): Promise<Line> {
  const server = await start(bench.programs, "podkeep", data);
  const seconds = bench.seconds * 20;
  const common = { connections: 8, seconds, headers: data.headers };
  await Promise.all([
    runLoad({ ...common, url: `${server.url}/subscriptions?since=${new Date().toISOString()}` }),
    runLoad({ ...common, url: `${server.url}/subscriptions?per_page=50` }),
    runLoad({ ...common, url: `${server.url}/subscriptions`, send: { post: addOne("load") } }),
  ]);
  const memory = server.memory();
  await server.stop();
  return {
    what: `memory after ${seconds} s of load`,
    podkeep: memory,
    baseline: null,
    unit: "MB",
    goal: { most: 150 },
  };
}
