// Attacks (test/support/attacks.ts): how long each blocks the event loop, and others wait; and the memory of all.
import { join } from "node:path";
import { ATTACKS } from "../../test/support/attacks.ts";
import { Beside, Blocks } from "../blocks.ts";
import { fill } from "../data.ts";
import { start } from "../programs.ts";
import { type Bench, median } from "../rounds.ts";
import type { Line } from "../table.ts";

export async function measureAttacks(bench: Bench): Promise<Line[]> {
  const beside = new Beside();
  const memory: number[] = [];
  for (let round = 0; round < bench.rounds; round++) {
    const data = await fill(join(bench.folder, `attacks${round}`), { users: 2, subscriptions: 0 });
    const log = new Blocks(data);
    const server = await start(bench.programs, "podkeep", data, { env: log.env });
    const target = { url: server.url, user: "user0", tokens: data.tokens.slice(0, 1) };
    await beside.measureAlone(server, data);
    for (const { what, run } of ATTACKS) await beside.measure(server, data, log, what, () => run(target));
    memory.push(server.mostMemory());
    await server.stop();
  }
  return [
    ...beside.lines("these attacks", 100),
    { what: "memory at most, one server", podkeep: median(memory), baseline: null, unit: "MB", goal: { most: 256 } },
  ];
}
