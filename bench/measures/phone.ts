// What the requests of one phone cost, one after the other, on podkeep, the bare server and oPodSync: processor time, and
// what is written to the disk.
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { ask } from "../client.ts";
import { type Data, feedUrl, fill, insertActions } from "../data.ts";
import { startOpodsync } from "../opodsync.ts";
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

/** What podkeep may take of the costs of oPodSync. */
const OF_PEER: Cost = { processor: 0.333, written: 1 };

interface Request {
  what: string;
  times: number;
  /** The most that meets the goal. */
  most: Cost;
  path: (phone: Phone) => string;
  /** The body of the n-th request; without it, a GET. */
  body?: (n: number) => unknown;
  /** A server that is not asked. */
  except?: Phone["side"];
}

/** A server, and where the phone is that syncs with it. */
interface Phone {
  side: Side | "oPodSync";
  server: Server;
  headers: Record<string, string>;
  since: { feeds: number; episodes: number };
}

/** Of each round. */
type Costs = Record<Phone["side"], Cost[]>;

const POLL = { times: POLLS, most: { processor: 75, written: 0 } };
const UPLOAD = { times: UPLOADS, path: () => ACTION_PATH, most: { processor: 700, written: 60 } };
const REQUESTS: Request[] = [
  // What any request costs on this runtime.
  {
    ...POLL,
    what: "request for nothing",
    path: ({ side }) => (side === "bare" ? "/nothing" : "/livez"),
    except: "oPodSync",
  },
  { ...POLL, what: "poll of podcasts, nothing new", path: ({ since }) => `${CHANGES}?since=${since.feeds}` },
  { ...POLL, what: "poll of episodes, nothing new", path: ({ since }) => `${ACTION_PATH}?since=${since.episodes}` },
  { ...POLL, what: "list of 200 podcasts", path: () => LIST, most: { processor: 200, written: 0 } },
  {
    ...UPLOAD,
    what: "30 plays, of episodes used lately",
    // It would insert everything again.
    except: "bare",
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
  const podkeep = await startPhone(bench, "podkeep");
  const phones: Phone[] = [podkeep, await startPhone(bench, "bare")];
  if (bench.opodsync) phones.push(await startPeer(bench, bench.opodsync));
  const lines = [sizeOf(podkeep.data)];
  let number = 0;
  for (const request of REQUESTS) {
    const costs: Costs = { podkeep: [], bare: [], oPodSync: [] };
    for (let round = 0; round <= bench.rounds; round++) {
      for (const phone of phones) {
        if (phone.side === request.except) continue;
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

async function startPhone(bench: Bench, side: Side): Promise<Phone & { data: Data }> {
  const data = await fill(join(bench.folder, `phone-${side}`), { users: 1, subscriptions: SUBSCRIPTIONS });
  insertActions(data, EPISODES);
  // The client of the bare server is a row that podkeep makes, too.
  const maker = await start(bench.programs, "podkeep", data);
  const cookies = await signIn(maker, data);
  const [name = "", value = ""] = (await Bun.file(side === "bare" ? data.headers : cookies).text()).trim().split(": ");
  if (side === "bare") await maker.stop();
  const server = side === "bare" ? await start(bench.programs, side, data) : maker;
  return { ...(await connect(side, server, { [name]: value })), data };
}

async function startPeer(bench: Bench, source: string): Promise<Phone> {
  const folder = join(bench.folder, "phone-opodsync");
  const { server, headers } = await startOpodsync(source, folder, { subscriptions: SUBSCRIPTIONS, plays: EPISODES });
  return connect("oPodSync", server, headers);
}

async function connect(side: Phone["side"], server: Server, credential: Record<string, string>): Promise<Phone> {
  const headers = { ...credential, "User-Agent": "bench/1.0" };
  const phone = { side, server, headers, since: { feeds: 0, episodes: 0 } };
  const sinceOf = async (path: string) => Number(JSON.parse(await send(phone, `${path}?since=0`)).timestamp);
  return { ...phone, since: { feeds: await sinceOf(CHANGES), episodes: await sinceOf(ACTION_PATH) } };
}

/** As it is on the disk once its log is in it. */
function sizeOf({ file }: Data): Line {
  const what = `file of ${SUBSCRIPTIONS} podcasts and ${EPISODES.toLocaleString("en")} episodes`;
  const db = new Database(file, { readonly: true });
  const size = db.query<{ size: number }, []>(
    "select page_count * page_size as size from pragma_page_count(), pragma_page_size()",
  );
  const line: Line = {
    what,
    podkeep: (size.get()?.size ?? 0) / 1e6,
    baseline: null,
    unit: "MB",
    goal: { most: FILE_MOST },
  };
  db.close();
  return line;
}

function linesOf({ what, most }: Request, costs: Costs): Line[] {
  return (["processor", "written"] as const).flatMap((kind) => {
    const medianOf = (side: Phone["side"]) => median(costs[side].map((cost) => cost[kind]));
    const isMeasured = (side: Phone["side"]) => costs[side].length > 0;
    const podkeep = medianOf("podkeep");
    const unit = kind === "processor" ? ("µs" as const) : ("KB" as const);
    const line: Line = {
      what: `a phone's ${what}: ${kind === "written" ? "written" : "processor time"}`,
      podkeep,
      baseline: isMeasured("bare") ? medianOf("bare") : null,
      unit,
      goal: { most: most[kind], of: "podkeep" },
    };
    if (!isMeasured("oPodSync")) return [line];
    const baseline = medianOf("oPodSync");
    return [line, { what: "the same; baseline: oPodSync", podkeep, baseline, unit, goal: { most: OF_PEER[kind] } }];
  });
}

async function costOf(phone: Phone, { path, body, times: all }: Request, first: number): Promise<Cost> {
  const { server } = phone;
  // Its polls take milliseconds.
  const times = phone.side === "oPodSync" && !body ? all / 10 : all;
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
