// Requests of gPodder apps, against the bare server: reads on the same database, writes on one each.
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { ask } from "../client.ts";
import { compareRates } from "../compare.ts";
import { type Data, fill, insertActions } from "../data.ts";
import { type Server, type Side, start } from "../programs.ts";
import type { Bench } from "../rounds.ts";
import type { Goal, Line } from "../table.ts";

const READERS = 32;
const WRITERS = 64;
/** Readers of all episodes. */
const LONG_READERS = 4;
const EPISODES = 20_000;
/** AntennaPod sends as many at a time. */
const ACTIONS = 30;
/** What requests.lua sends, too. */
const APP = { "User-Agent": "bench/1.0" };

export const CHANGES = "/api/2/subscriptions/user{user}/phone.json";
export const LIST = "/subscriptions/user{user}/phone.json";
export const ACTION_PATH = "/api/2/episodes/user{user}.json";

/** A third of the processor time that the fastest other server takes, in microseconds. */
const timeOf = (most: number): Goal => ({ most, of: "processor" });
const HALF: Goal = { least: 0.5 };

export async function measureGpodder(bench: Bench): Promise<Line[]> {
  return [...(await measureReads(bench)), ...(await measureWrites(bench))];
}

/** Signs a phone of each user in with the user's token, as AntennaPod does. @returns path of a file with its cookies */
export async function signIn({ url }: Server, { folder, tokens }: Data): Promise<string> {
  const cookies = await Promise.all(
    tokens.map(async (token, index) => {
      const user = `user${index}`;
      const basic = `Basic ${Buffer.from(`${user}:${token}`).toString("base64")}`;
      const login = await request(`${url}/api/2/auth/${user}/login.json`, { Authorization: basic }, "POST");
      const named = await request(url + CHANGES.replace("{user}", String(index)), cookieOf(login));
      const cookie = cookieOf(named);
      // Its first reads, which make it known.
      for (const path of [CHANGES, ACTION_PATH]) await request(url + path.replace("{user}", String(index)), cookie);
      return cookie.Cookie;
    }),
  );
  const file = join(folder, "cookies");
  await Bun.write(file, cookies.map((cookie) => `Cookie: ${cookie}\n`).join(""));
  return file;
}

async function request(url: string, headers: Record<string, string>, method = "GET"): Promise<Response> {
  const response = await ask(url, { method, headers: { ...APP, ...headers } });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return response;
}

const cookieOf = (response: Response) => ({ Cookie: response.headers.get("set-cookie")?.split(";", 1)[0] ?? "" });

async function measureReads(bench: Bench): Promise<Line[]> {
  const data = await fill(join(bench.folder, "gpodder-reads"), { users: 1, subscriptions: 200 });
  insertActions(data, EPISODES);
  const servers = {
    podkeep: await start(bench.programs, "podkeep", data),
    bare: await start(bench.programs, "bare", data),
  };
  const headers = { podkeep: await signIn(servers.podkeep, data), bare: data.headers };
  const first = await responseOf("podkeep", ACTION_PATH);
  const { timestamp } = JSON.parse(first);
  const lines = [
    await compare("gPodder: GET with since, nothing new", `${CHANGES}?since=${timestamp}`, READERS, timeOf(75)),
    await compare("gPodder: GET with since=0, 200 subscriptions", `${CHANGES}?since=0`, READERS, HALF),
    await compare("gPodder: GET of the list of 200 subscriptions", LIST, READERS, timeOf(200)),
    await compare(
      "gPodder: GET of episodes with since, nothing new",
      `${ACTION_PATH}?since=${timestamp}`,
      READERS,
      timeOf(75),
    ),
    await compare("gPodder: GET of 20,000 episodes", `${ACTION_PATH}?since=0`, LONG_READERS, HALF),
  ];
  const memory = servers.podkeep.memory();
  await servers.podkeep.stop();
  await servers.bare.stop();
  return [
    ...lines,
    { what: "memory after these GETs", podkeep: memory, baseline: null, unit: "MB", goal: { most: 150 } },
  ];

  async function compare(what: string, path: string, connections: number, goal: Goal): Promise<Line> {
    // The first response may note where it ended.
    await responseOf("podkeep", path);
    if ((await responseOf("podkeep", path)) !== (await responseOf("bare", path))) {
      throw new Error(`${what}: the bare server responds differently`);
    }
    const load = (side: Side) => ({ url: path, connections, headers: headers[side] });
    return compareRates(bench, { what, goal, servers, load });
  }

  async function responseOf(side: Side, path: string): Promise<string> {
    const [name = "", value = ""] = (await Bun.file(headers[side]).text()).trim().split(": ");
    return (await request(servers[side].url + path.replace("{user}", "0"), { [name]: value })).text();
  }
}

async function measureWrites(bench: Bench): Promise<Line[]> {
  const newData = (name: string) => fill(join(bench.folder, name), { users: WRITERS, subscriptions: 50 });
  const data = { podkeep: await newData("gpodder-writes"), bare: await newData("gpodder-writes-bare") };
  // The clients are rows that podkeep makes.
  const maker = await start(bench.programs, "podkeep", data.bare);
  await signIn(maker, data.bare);
  await maker.stop();
  const servers = {
    podkeep: await start(bench.programs, "podkeep", data.podkeep),
    bare: await start(bench.programs, "bare", data.bare),
  };
  const headers = { podkeep: await signIn(servers.podkeep, data.podkeep), bare: data.bare.headers };
  let runs = 0;
  const write = (what: string, url: string, bodyOf: (run: string) => string, most: number) => {
    const load = (side: Side) => ({
      url,
      connections: WRITERS,
      headers: headers[side],
      send: { post: bodyOf(`run${runs++}`) },
    });
    return compareRates(bench, { what, goal: timeOf(most), servers, load });
  };
  const lines = [
    await write("gPodder: POST of one change", CHANGES, addedBody, 420),
    await write("gPodder: POST of 30 episode actions", ACTION_PATH, actionsBody, 700),
  ];
  for (const side of ["podkeep", "bare"] as const) checkWritten(data[side]);
  await servers.podkeep.stop();
  await servers.bare.stop();
  return lines;
}

const addedBody = (run: string) => `{"add":["https://feeds.example.com/${run}/{n}.xml"],"remove":[]}`;

export function actionsBody(run: string): string {
  const actions = Array.from({ length: ACTIONS }, (_, index) => ({
    podcast: `https://feeds.example.com/bench/${index % 5}/podcast.xml`,
    episode: `https://media.example.com/${run}/{n}/${index}.mp3`,
    guid: `${run}-{n}-${index}`,
    action: "play",
    timestamp: "2026-01-01T12:00:00",
    started: 0,
    position: 60 + index,
    total: 3600,
  }));
  return JSON.stringify(actions);
}

/** @throws Error if a server has left the uploads out */
function checkWritten({ file }: Data): void {
  const db = new Database(file, { readonly: true });
  const count = (sql: string) => db.query<{ count: number }, []>(sql).get()?.count ?? 0;
  const holdings = count("select count(*) as count from holdings");
  const actions = count("select count(*) as count from episode_actions");
  db.close();
  if (holdings === 0 || actions === 0 || actions % ACTIONS !== 0) {
    throw new Error(`${file} has ${holdings} holdings and ${actions} episode actions after the uploads`);
  }
}
