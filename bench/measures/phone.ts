// What the requests of one phone cost, one after the other: processor time, and what is written to the disk.
import { join } from "node:path";
import { ask } from "../client.ts";
import { type Data, feedUrl, fill, insertActions } from "../data.ts";
import { type Server, start } from "../programs.ts";
import { type Bench, median } from "../rounds.ts";
import type { Line } from "../table.ts";
import { ACTION_PATH, CHANGES, LIST, signIn } from "./gpodder.ts";

const SUBSCRIPTIONS = 200;
const EPISODES = 20_000;
/** AntennaPod sends as many at a time. */
const PLAYS = 30;
/** Podcasts of one upload's plays. */
const PODCASTS = 5;
const POLLS = 3000;
const UPLOADS = 300;

interface Cost {
  /** Of one request, in microseconds. */
  processor: number;
  /** Of one request, in KB. */
  written: number;
}

interface Request {
  what: string;
  times: number;
  /** The most that meets the goal. */
  most: Cost;
  path: string;
  /** The body of the n-th request of a round; without it, a GET. */
  body?: (n: number) => unknown;
}

export async function measurePhone(bench: Bench): Promise<Line[]> {
  const data = await fill(join(bench.folder, "phone"), { users: 1, subscriptions: SUBSCRIPTIONS });
  insertActions(data, EPISODES);
  const server = await start(bench.programs, "podkeep", data);
  const send = senderOf(server, await cookieOf(server, data));
  const sinceOf = async (path: string) => Number((await send(`${path}?since=0`)).timestamp);
  const feeds = `${CHANGES}?since=${await sinceOf(CHANGES)}`;
  const episodes = `${ACTION_PATH}?since=${await sinceOf(ACTION_PATH)}`;
  const poll = { times: POLLS, most: { processor: 75, written: 0 } };
  const upload = { times: UPLOADS, path: ACTION_PATH, most: { processor: 700, written: 60 } };
  const requests: Request[] = [
    { what: "poll of podcasts, nothing new", path: feeds, ...poll },
    { what: "poll of episodes, nothing new", path: episodes, ...poll },
    { what: "list of 200 podcasts", path: LIST, times: POLLS, most: { processor: 200, written: 0 } },
    { what: "30 plays, of episodes used lately", ...upload, body: (n) => playsOf(n, (at) => EPISODES - PLAYS + at) },
    { what: "30 plays, of new episodes", ...upload, body: (n) => playsOf(n, (at) => `${n}-${at}`) },
    {
      what: "one podcast added",
      path: CHANGES,
      times: UPLOADS,
      most: { processor: 420, written: 20 },
      body: (n) => ({ add: [feedUrl("phone", n)], remove: [] }),
    },
  ];
  const lines: Line[] = [];
  let number = 0;
  for (const request of requests) {
    const costs: Cost[] = [];
    for (let round = 0; round <= bench.rounds; round++) {
      const cost = await costOf(server, request.times, () => send(request.path, request.body?.(number++)));
      // Code that runs for the first time takes longer.
      if (round > 0) costs.push(cost);
    }
    lines.push(...linesOf(request, costs));
  }
  await server.stop();
  return lines;
}

function linesOf({ what, most }: Request, costs: Cost[]): Line[] {
  const line = (kind: keyof Cost, unit: "µs" | "KB"): Line => ({
    what: `a phone's ${what}: ${kind === "written" ? "written" : "processor time"}`,
    podkeep: median(costs.map((cost) => cost[kind])),
    baseline: null,
    unit,
    goal: { most: most[kind] },
  });
  return [line("processor", "µs"), line("written", "KB")];
}

async function costOf(server: Server, times: number, work: () => Promise<unknown>): Promise<Cost> {
  const before = [server.processorTime(), server.written()] as const;
  for (let n = 0; n < times; n++) await work();
  const processor = ((server.processorTime() - before[0]) * 1e6) / times;
  return { processor, written: (server.written() - before[1]) / times / 1024 };
}

async function cookieOf(server: Server, data: Data): Promise<string> {
  return (await Bun.file(await signIn(server, data)).text()).trim().split(": ")[1] ?? "";
}

const senderOf =
  ({ url }: Server, cookie: string) =>
  async (path: string, body?: unknown) => {
    const headers = { Cookie: cookie, "User-Agent": "bench/1.0" };
    const post = body !== undefined && { method: "POST", body: JSON.stringify(body) };
    const response = await ask(url + path.replace("{user}", "0"), { headers, ...post });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as { timestamp?: number };
  };

/** An upload of plays: the n-th minute of each episode. */
function playsOf(n: number, episodeAt: (at: number) => number | string) {
  return Array.from({ length: PLAYS }, (_, at) => {
    const episode = episodeAt(at);
    const podcast = typeof episode === "number" ? episode % 100 : (n * PODCASTS + (at % PODCASTS)) % SUBSCRIPTIONS;
    return {
      podcast: feedUrl("bench", podcast),
      episode: `https://media.example.com/${episode}/episode.mp3`,
      guid: `guid-${episode}`,
      action: "play",
      timestamp: new Date(Date.UTC(2026, 0, 2) + n * 60_000 + at * 1000).toISOString().slice(0, 19),
      started: 60 * (n % 600),
      position: 60 * (n % 600) + 60,
      total: 36_000,
    };
  });
}
