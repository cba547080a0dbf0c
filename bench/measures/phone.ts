// What the requests of one phone cost, one after the other, on podkeep and on the bare server: processor time, and what is
// written to the disk.
import { statSync } from "node:fs";
import { join } from "node:path";
import { ask } from "../client.ts";
import { feedUrl, fill, insertActions } from "../data.ts";
import { type Server, type Side, start } from "../programs.ts";
import { type Bench, median } from "../rounds.ts";
import type { Line } from "../table.ts";
import { ACTION_PATH, CHANGES, LIST, signIn } from "./gpodder.ts";

const SUBSCRIPTIONS = 200;
const EPISODES = 20_000;
/** AntennaPod sends as many at a time. */
const PLAYS = 30;
/** The most megabytes for a file with as many. */
const FILE_MOST = 2.5;
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
  path: (phone: Phone) => string;
  /** The body of the n-th request; without it, a GET. */
  body?: (n: number) => unknown;
  /** Whether it repeats itself: the bare server would insert everything again. */
  isKnown?: boolean;
}

/** A server, and where the phone is that syncs with it. */
interface Phone {
  side: Side;
  server: Server;
  headers: Record<string, string>;
  since: { feeds: number; episodes: number };
  /** Bytes of the database file before its requests. */
  size: number;
}

const POLL = { times: POLLS, most: { processor: 75, written: 0 } };
const UPLOAD = { times: UPLOADS, path: () => ACTION_PATH, most: { processor: 700, written: 60 } };
const REQUESTS: Request[] = [
  // What any request costs on this runtime.
  { ...POLL, what: "request for nothing", path: ({ side }) => (side === "bare" ? "/nothing" : "/livez") },
  { ...POLL, what: "poll of podcasts, nothing new", path: ({ since }) => `${CHANGES}?since=${since.feeds}` },
  { ...POLL, what: "poll of episodes, nothing new", path: ({ since }) => `${ACTION_PATH}?since=${since.episodes}` },
  { ...POLL, what: "list of 200 podcasts", path: () => LIST, most: { processor: 200, written: 0 } },
  {
    ...UPLOAD,
    what: "30 plays, of episodes used lately",
    isKnown: true,
    body: (n) => playsOf(n, (at) => EPISODES - PLAYS + at),
  },
  { ...UPLOAD, what: "30 plays, of new episodes", body: (n) => playsOf(n, (at) => `${n}-${at}`) },
  {
    what: "one podcast added",
    path: () => CHANGES,
    times: UPLOADS,
    most: { processor: 420, written: 20 },
    body: (n) => ({ add: [feedUrl("phone", n)], remove: [] }),
  },
];

export async function measurePhone(bench: Bench): Promise<Line[]> {
  const phones = [await startPhone(bench, "podkeep"), await startPhone(bench, "bare")] as const;
  const lines = [sizeLine(phones[0])];
  let number = 0;
  for (const request of REQUESTS) {
    const costs: Record<Side, Cost[]> = { podkeep: [], bare: [] };
    for (let round = 0; round <= bench.rounds; round++) {
      for (const phone of phones) {
        if (request.isKnown && phone.side === "bare") continue;
        const cost = await costOf(phone, request, number);
        // Code that runs for the first time takes longer.
        if (round > 0) costs[phone.side].push(cost);
      }
      number += request.times;
    }
    lines.push(...linesOf(request, costs));
  }
  for (const { server } of phones) await server.stop();
  return lines;
}

async function startPhone(bench: Bench, side: Side): Promise<Phone> {
  const data = await fill(join(bench.folder, `phone-${side}`), { users: 1, subscriptions: SUBSCRIPTIONS });
  insertActions(data, EPISODES);
  // The client of the bare server is a row that podkeep makes, too.
  const maker = await start(bench.programs, "podkeep", data);
  const cookies = await signIn(maker, data);
  const [name = "", value = ""] = (await Bun.file(side === "bare" ? data.headers : cookies).text()).trim().split(": ");
  const headers = { [name]: value, "User-Agent": "bench/1.0" };
  await maker.stop();
  const { size } = statSync(data.file);
  const server = await start(bench.programs, side, data);
  const phone = { side, server, headers, since: { feeds: 0, episodes: 0 }, size };
  const sinceOf = async (path: string) => Number(JSON.parse(await send(phone, `${path}?since=0`)).timestamp);
  return { ...phone, since: { feeds: await sinceOf(CHANGES), episodes: await sinceOf(ACTION_PATH) } };
}

function sizeLine({ size }: Phone): Line {
  const what = `file of ${SUBSCRIPTIONS} podcasts and ${EPISODES.toLocaleString("en")} episodes`;
  return { what, podkeep: size / 1e6, baseline: null, unit: "MB", goal: { most: FILE_MOST } };
}

function linesOf({ what, most, isKnown = false }: Request, costs: Record<Side, Cost[]>): Line[] {
  const medianOf = (side: Side, kind: keyof Cost) => median(costs[side].map((cost) => cost[kind]));
  const line = (kind: keyof Cost, unit: "µs" | "KB"): Line => ({
    what: `a phone's ${what}: ${kind === "written" ? "written" : "processor time"}`,
    podkeep: medianOf("podkeep", kind),
    baseline: isKnown ? null : medianOf("bare", kind),
    unit,
    goal: { most: most[kind], of: "podkeep" },
  });
  return [line("processor", "µs"), line("written", "KB")];
}

async function costOf(phone: Phone, { path, body, times }: Request, first: number): Promise<Cost> {
  const { server } = phone;
  const before = [server.processorTime(), server.written()] as const;
  for (let n = first; n < first + times; n++) await send(phone, path(phone), body?.(n));
  const processor = ((server.processorTime() - before[0]) * 1e6) / times;
  return { processor, written: (server.written() - before[1]) / times / 1024 };
}

async function send({ server, headers }: Phone, path: string, body?: unknown): Promise<string> {
  const post = body !== undefined && { method: "POST", body: JSON.stringify(body) };
  const response = await ask(server.url + path.replace("{user}", "0"), { headers, ...post });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
  return text;
}

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
