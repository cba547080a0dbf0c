// The web page's first byte with 10,000 podcasts and 50,000 plays.
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { ask } from "../client.ts";
import { type Data, fill, insertRows, makeRows } from "../data.ts";
import { type Server, start } from "../programs.ts";
import { type Bench, median } from "../rounds.ts";
import type { Line } from "../table.ts";

const [FEW, MANY] = [72, 10_000];
const REQUESTS = 20;
/** Milliseconds. */
const FIRST_BYTE = 50;

export async function measurePage(bench: Bench): Promise<Line[]> {
  const data = await fill(join(bench.folder, "page"), { users: 2, subscriptions: FEW });
  addRows(data, "user0", MANY - FEW);
  addPlays(data, "user0");
  const server = await start(bench.programs, "podkeep", data);
  const [many, few] = await Promise.all(["user0", "user1"].map((name, index) => signIn(server, data, name, index)));
  const lines: Line[] = [];
  for (const [what, path] of [
    ["web page of 10,000 podcasts, first byte", "/podcasts"],
    ["the same, page 50", "/podcasts?page=50"],
    ["the same, a search", "/podcasts?search=99+feeds"],
    ["its OPML export", "/podcasts/podkeep.opml"],
    ["50,000 plays: continue, first byte", "/listening"],
    ["the same, history", "/listening/history"],
    ["the same, history of one podcast", "/listening/history?podcast=-7"],
    ["the same, a search", "/listening/history?search=nothing"],
    ["the same, hours of a year", "/listening/year?year=2025"],
    ["the same, one episode", "/listening/episodes/1"],
    ["the same, all as CSV", "/listening/plays.csv"],
  ] as const) {
    const podkeep = await firstByte(server, path, many ?? "", bench.rounds);
    lines.push({ what, podkeep, baseline: null, unit: "ms", goal: { most: FIRST_BYTE } });
  }
  lines.push(await measureFile(server, "/listening/plays.csv", many ?? ""));
  const [podkeep, baseline] = [lines[0]?.podkeep ?? 0, await firstByte(server, "/podcasts", few ?? "", bench.rounds)];
  const what = `web page of 10,000 podcasts; baseline: ${FEW}`;
  lines.push({ what, podkeep, baseline, unit: "ms", goal: { most: 20 } });
  await server.stop();
  return lines;
}

function addRows({ file }: Data, name: string, count: number): void {
  const db = new Database(file, { readwrite: true });
  const id = db.query<{ id: number }, [string]>("select id from users where name = ?").get(name)?.id ?? 0;
  // Older than the user's other ones: timestamps are unique.
  const rows = makeRows(count, "more", FEW).map((row) => ({ ...row, timestamp: row.timestamp - 2 * MANY }));
  db.transaction(() => insertRows(db, id, rows))();
  db.close();
}

const PLAYS = 50_000;
/** Twenty a day. */
const PAUSE = 86_400_000 / 20;

/** Plays of some years, until the end of 2026. */
function addPlays({ file }: Data, name: string): void {
  const db = new Database(file, { readwrite: true });
  const end = Date.parse("2027-01-01");
  const many = (into: string, values: string) =>
    db.run(
      `insert into ${into} with recursive n(n) as (select 1 union all select n + 1 from n where n < ${PLAYS})
        select users.id, ${values} from n, users where users.name = ?`,
      [name],
    );
  const episode = "'https://a.example/' || (n % 200), 'https://a.example/' || n || '.mp3'";
  many("episodes (user_id, id, podcast, feed_url, url)", `n, -1 - n % 200, ${episode}`);
  many(
    "episode_actions (user_id, episode, kind, sent_at, acted_at, arrived_at, started, position, total)",
    "n, 'play', n, n, n, 0, 1800, 3240",
  );
  const begun = `${end} - n * ${PAUSE}`;
  many(
    "plays (user_id, id, episode, client, begun_at, ended_at, started, position, total, arrived_at, actor_kind, actor_label)",
    `n, n, 1, ${begun}, ${begun} + 1800000, 0, 1800, 3240, n, 'token', 'AntennaPod'`,
  );
  db.close();
}

/** A file of all plays, to its end. */
async function measureFile(server: Server, path: string, Cookie: string): Promise<Line> {
  const before = server.memory();
  const begin = performance.now();
  const text = await (await ask(server.url + path, { headers: { Cookie } })).text();
  const seconds = (performance.now() - begin) / 1000;
  const rows = text.split("\r\n").length - 2;
  if (rows !== PLAYS) throw new Error(`${path} has ${rows} plays`);
  console.error(
    `${path}: ${(text.length / 1e6).toFixed(1)} MB, memory ${(server.memory() - before).toFixed(0)} MB more`,
  );
  return { what: "the same, to its end", podkeep: seconds, baseline: null, unit: "s", goal: { most: 5 } };
}

/** @returns the session's cookie */
async function signIn(server: Server, { tokens }: Data, name: string, index: number): Promise<string> {
  const body = new URLSearchParams({ name, password: tokens[index] ?? "" });
  const response = await ask(`${server.url}/sign-in`, { method: "POST", body, redirect: "manual" });
  const [cookie] = response.headers.getSetCookie();
  if (!cookie) throw new Error(`/sign-in answered ${response.status}: ${await response.text()}`);
  return cookie.split(";")[0] ?? "";
}

/** The median of 20 requests in each round, after as many to warm up, in milliseconds. */
async function firstByte(server: Server, path: string, cookie: string, rounds: number): Promise<number> {
  const times: number[] = [];
  for (let request = 0; request < REQUESTS * (rounds + 1); request++) {
    const begin = performance.now();
    const response = await ask(server.url + path, { headers: { Cookie: cookie }, redirect: "manual" });
    if (request >= REQUESTS) times.push(performance.now() - begin);
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    await response.arrayBuffer();
  }
  return median(times);
}
