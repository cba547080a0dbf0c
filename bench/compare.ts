// The rates of podkeep and the bare server at the same load.
import type { Server, Side } from "./programs.ts";
import { type Bench, inTurn, median } from "./rounds.ts";
import type { Goal, Line } from "./table.ts";
import { type Load, runLoad } from "./wrk.ts";

interface Comparison {
  what: string;
  /** Of the ratio of both rates, or of the processor time. */
  goal: Goal;
  servers: Record<Side, Server>;
  /** The load of one round on one side; its URL is a path. */
  load: (side: Side) => Omit<Load, "seconds">;
}

/** Measures requests per second and their processor time on both sides. */
export async function compareRates(bench: Bench, { what, goal, servers, load }: Comparison): Promise<Line> {
  const times: Record<Side, number[]> = { podkeep: [], bare: [] };
  const rateOf = async (side: Side) => {
    const { url, ...rest } = load(side);
    const { seconds } = bench;
    const before = servers[side].processorTime();
    const { rate } = await runLoad({ ...rest, url: servers[side].url + url, seconds });
    times[side].push(((servers[side].processorTime() - before) * 1e6) / (rate * seconds));
    return rate;
  };
  const rates = await inTurn(bench.rounds, { podkeep: () => rateOf("podkeep"), bare: () => rateOf("bare") });
  const processor = { podkeep: median(times.podkeep), baseline: median(times.bare) };
  return { what, podkeep: rates.podkeep, baseline: rates.bare, unit: "requests/s", goal, processor };
}
