// The largest valid requests at the default limits: how long each blocks the event loop, and others wait.
import { join } from "node:path";
import { Beside, Blocks } from "../blocks.ts";
import { ask } from "../client.ts";
import { type Data, feedUrl, fill } from "../data.ts";
import { type Server, start } from "../programs.ts";
import type { Bench } from "../rounds.ts";
import type { Line } from "../table.ts";

/** Defaults of PODKEEP_MAX_ITEMS and PODKEEP_MAX_PER_PAGE, and the plays that PODKEEP_MAX_BODY takes. */
const ITEMS = 5000;
const PER_PAGE = 500;
const PLAYS = 26_000;
const CLIENTS = 100;
const range = (count: number) => Array.from({ length: count }, (_, index) => index);
const guidOf = (number: number) => `${number.toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;
const opml = (urls: string[]) =>
  `<opml version="2.0"><body>${urls.map((url) => `<outline type="rss" xmlUrl="${url}"/>`).join("")}</body></opml>`;

interface Request {
  method: string;
  path: string;
  body?: string | FormData;
  headers?: Record<string, string>;
}

export async function measureWorst(bench: Bench): Promise<Line[]> {
  const beside = new Beside();
  for (let round = 0; round < bench.rounds; round++) {
    const data = await fill(join(bench.folder, `worst${round}`), { users: 2, subscriptions: 0 });
    const log = new Blocks(data);
    const server = await start(bench.programs, "podkeep", data, { env: log.env });
    await beside.measureAlone(server, data);
    await runAll(server, data, (what, work) => beside.measure(server, data, log, what, work));
    await server.stop();
  }
  return beside.lines("these requests", 50);
}

/** Measures the blocks of a request. */
type Measure = (what: string, work: () => Promise<unknown>) => Promise<void>;

async function runAll(server: Server, data: Data, measureWork: Measure): Promise<void> {
  const [token = ""] = data.tokens;
  const device = "/api/2/subscriptions/user0/phone.json";
  const urls = (name: string) => range(ITEMS).map((n) => feedUrl(name, n));
  const post = (subscriptions: object[]): Request => ({
    method: "POST",
    path: "/subscriptions",
    body: JSON.stringify({ subscriptions }),
  });
  const add = (name: string, guids?: number) =>
    post(urls(name).map((feed_url, n) => ({ feed_url, ...(guids !== undefined && { guid: guidOf(guids + n) }) })));
  const json = (method: string, path: string, body: unknown): Request => ({ method, path, body: JSON.stringify(body) });
  const get = (path: string): Request => ({ method: "GET", path });

  async function send({ method, path, body, headers }: Request): Promise<Response> {
    const response = await ask(server.url + path, {
      method,
      redirect: "manual",
      headers: {
        Authorization: `Bearer ${token}`,
        ...(typeof body === "string" && { "Content-Type": "application/json" }),
        "User-Agent": "gPodder/3.11",
        ...headers,
      },
      ...(body !== undefined && { body }),
    });
    if (response.status >= 400) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return response;
  }

  const measure = (what: string, request: Request) =>
    measureWork(what, async () => void (await (await send(request)).bytes()));

  // Code that runs for the first time takes longer.
  await send(get("/subscriptions"));
  await measure("a POST of 5,000 new feeds", add("a"));
  await measure("the same again", add("a"));
  await measure("a page of 500 of them", get(`/subscriptions?per_page=${PER_PAGE}`));
  await measure("gPodder's GET of them all", get(`${device}?since=0`));
  await measure("a GET of the list", get("/subscriptions/user0/phone.json"));
  await measure("a GET of the list as OPML", get("/subscriptions/user0.opml"));
  await measure("a PUT of the whole list", json("PUT", "/subscriptions/user0/phone.json", urls("a")));
  await measure("a PUT of another list", json("PUT", "/subscriptions/user0/phone.json", urls("c")));
  await send(add("b", 1));
  await measure("a POST that merges 5,000 pairs", add("a", 1));
  await measure("a POST that adds 5,000 guids", add("b", 100_001));
  await measure("gPodder's POST of 5,000 removals", json("POST", device, { add: [], remove: urls("c") }));
  await measure("gPodder's POST of 5,000 additions", json("POST", device, { add: urls("d"), remove: [] }));
  const plays = range(PLAYS).map((n) => ({
    podcast: feedUrl("a", n % 100),
    episode: `https://cdn.example/${n}.mp3`,
    action: "play",
    timestamp: "2025-12-01T00:00:00",
    started: 0,
    position: 5,
    total: 100,
  }));
  await measure("an upload of 26,000 plays", json("POST", "/api/2/episodes/user0.json", plays));
  await measure("the same upload again", json("POST", "/api/2/episodes/user0.json", plays));
  const unlisted = plays.slice(0, 500).map((one, n) => ({ ...one, podcast: feedUrl("z", n) }));
  await measure("an upload of 500 plays of feeds in no list", json("POST", "/api/2/episodes/user0.json", unlisted));
  await measure("a GET of these plays", get("/api/2/episodes/user0.json?since=0"));

  const form = new URLSearchParams({ name: "user0", password: token }).toString();
  const typed = { "Content-Type": "application/x-www-form-urlencoded" };
  const signedIn = await send({ method: "POST", path: "/sign-in", body: form, headers: typed });
  const file = new FormData();
  file.set("file", new File([opml(urls("e"))], "list.opml"));
  const headers = { Cookie: signedIn.headers.getSetCookie().join().split(";")[0] ?? "" };
  await measure("an import of 5,000 feeds", { method: "POST", path: "/podcasts/import", body: file, headers });
  await measure("the page's first 75 podcasts", { ...get("/podcasts"), headers });

  for (const n of range(CLIENTS)) await send(get(`/api/2/subscriptions/user0/device${n}.json?since=0`));
  const respelled = urls("d").map((url) => ({ feed_url: url.replace("https:", "http:") }));
  await unsubscribeAll();
  await measure("a POST of 5,000 deleted feeds in another spelling, 100 clients", post(respelled));

  async function unsubscribeAll(): Promise<void> {
    const { success } = (await (await send(add("d"))).json()) as { success: { guid: string }[] };
    for (let start = 0; start < ITEMS; start += 100) {
      const some = success.slice(start, start + 100);
      await Promise.all(some.map(({ guid }) => send({ method: "DELETE", path: `/subscriptions/${guid}` })));
    }
    await Bun.sleep(3000);
  }
}
