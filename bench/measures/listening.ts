// What keeping plays costs: the processor time of uploads, against a server that keeps none.
import { join } from "node:path";
import { ask } from "../client.ts";
import { type Data, fill } from "../data.ts";
import { type Server, start } from "../programs.ts";
import type { Bench } from "../rounds.ts";
import type { Line } from "../table.ts";

/** AntennaPod sends as many at a time. */
const PLAYS = 30;
/** Uploads in a turn, and turns in a round. */
const UPLOADS = 20;
const TURNS = 10;
const MOST = 1.15;
/** Seconds of one play. */
const STRETCH = 20;
/** Older than what the other server keeps, so that it keeps no play. */
const FIRST = Date.parse("2026-01-01T12:00:00Z");
const KEPT_NONE = { PODKEEP_PLAYS_KEEP: "30d" };

type Side = "kept" | "not";

export async function measureListening(bench: Bench): Promise<Line[]> {
  const data: Record<Side, Data> = {
    kept: await fill(join(bench.folder, "plays"), { users: 1, subscriptions: 200 }),
    not: await fill(join(bench.folder, "plays-not"), { users: 1, subscriptions: 200 }),
  };
  const servers: Record<Side, Server> = {
    kept: await start(bench.programs, "podkeep", data.kept),
    not: await start(bench.programs, "podkeep", data.not, { env: KEPT_NONE }),
  };
  let sent = 0;
  const measure = async (what: string, same: number): Promise<Line> => {
    const spent: Record<Side, number> = { kept: 0, not: 0 };
    const turns = bench.rounds * TURNS;
    // In short turns, so that other programs slow both down alike; the first ones are to warm up.
    for (let turn = -TURNS; turn < turns; turn++) {
      for (const side of ["kept", "not"] as const) {
        const before = servers[side].processorTime();
        for (let upload = 0; upload < UPLOADS; upload++) await send(servers[side], data[side], sent + upload, same);
        if (turn >= 0) spent[side] += servers[side].processorTime() - before;
      }
      sent += UPLOADS;
    }
    const msOf = (side: Side) => (spent[side] * 1000) / (turns * UPLOADS);
    return { what, podkeep: msOf("kept"), baseline: msOf("not"), unit: "ms", goal: { most: MOST } };
  };
  const lines = [
    await measure(
      "upload of 30 plays of new episodes, processor time; baseline: plays not kept",
      Number.POSITIVE_INFINITY,
    ),
    await measure("the same of episodes that go on", 10),
  ];
  for (const server of Object.values(servers)) await server.stop();
  return lines;
}

/** @param same after how many uploads the episodes of an earlier one go on */
async function send({ url }: Server, { tokens }: Data, upload: number, same: number): Promise<void> {
  const [set, round] = Number.isFinite(same) ? [`on${upload % same}`, Math.floor(upload / same)] : [`new${upload}`, 0];
  const actions = Array.from({ length: PLAYS }, (_, play) => ({
    podcast: `https://feeds.example.com/bench/${play % 5}/podcast.xml`,
    guid: `${set}/${play}`,
    action: "play",
    episode: `https://media.example.com/${set}/${play}.mp3`,
    device: "phone",
    total: 36_000,
    timestamp: new Date(FIRST + (round + 1) * STRETCH * 1000).toISOString(),
    started: round * STRETCH,
    position: (round + 1) * STRETCH,
  }));
  const headers = { Authorization: `Basic ${btoa(`user0:${tokens[0]}`)}`, "User-Agent": "AntennaPod/3.11.0" };
  const body = JSON.stringify(actions);
  const response = await ask(`${url}/api/2/episodes/user0.json`, { method: "POST", headers, body });
  if (!response.ok) throw new Error(`The upload was answered ${response.status}: ${await response.text()}`);
}
