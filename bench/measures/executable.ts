// Start time and memory of the executable.
import { join } from "node:path";
import { type Data, fill } from "../data.ts";
import { type Side, start } from "../programs.ts";
import { type Bench, inTurn, median } from "../rounds.ts";
import type { Line } from "../table.ts";
import { addOne, runLoad } from "../wrk.ts";

export async function measureExecutable(bench: Bench): Promise<Line[]> {
  const data = await fill(join(bench.folder, "executable"), { users: 10, subscriptions: 200 });
  return [
    ...(await measureStart(bench, data)),
    ...(await measureIdle(bench, data)),
    ...(await measureLoaded(bench, data)),
  ];
}

async function measureStart(bench: Bench, data: Data): Promise<Line[]> {
  const startOnce = async (side: Side) => {
    const server = await start(bench.programs, side, data);
    await server.stop();
    return server.started;
  };
  const { podkeep, bare } = await inTurn(bench.rounds * 2, {
    podkeep: () => startOnce("podkeep"),
    bare: () => startOnce("bare"),
  });
  return [
    { what: "start to first response", podkeep, baseline: null, unit: "ms", goal: { most: 45 } },
    { what: "the same; baseline: the bare server", podkeep, baseline: bare, unit: "ms", goal: { most: 3 } },
  ];
}

async function measureIdle(bench: Bench, data: Data): Promise<Line[]> {
  const own: number[] = [];
  const idle = async (side: Side) => {
    const server = await start(bench.programs, side, data);
    await Bun.sleep(2000);
    const memory = server.memory();
    if (side === "podkeep") own.push(server.privateMemory());
    await server.stop();
    return memory;
  };
  const { podkeep, bare } = await inTurn(bench.rounds, { podkeep: () => idle("podkeep"), bare: () => idle("bare") });
  return [
    { what: "memory, idle", podkeep, baseline: bare, unit: "MB", goal: { most: 1.7 } },
    { what: "private memory of that", podkeep: median(own), baseline: null, unit: "MB", goal: { most: 16 } },
  ];
}

async function measureLoaded(bench: Bench, data: Data): Promise<Line[]> {
  const server = await start(bench.programs, "podkeep", data);
  const seconds = bench.seconds * 20;
  const common = { connections: 8, seconds, headers: data.headers };
  await Promise.all([
    runLoad({ ...common, url: `${server.url}/subscriptions?since=${new Date().toISOString()}` }),
    runLoad({ ...common, url: `${server.url}/subscriptions?per_page=50` }),
    runLoad({ ...common, url: `${server.url}/subscriptions`, send: { post: addOne("load") } }),
  ]);
  const [podkeep, own] = [server.memory(), server.privateMemory()];
  await Bun.sleep(3000);
  const later = server.privateMemory();
  await server.stop();
  const what = `memory after ${seconds} s of load`;
  return [
    { what, podkeep, baseline: null, unit: "MB", goal: { most: 150 } },
    { what: "private memory of that", podkeep: own, baseline: null, unit: "MB", goal: { most: 60 } },
    { what: "the same three seconds later", podkeep: later, baseline: null, unit: "MB", goal: { most: 60 } },
  ];
}
