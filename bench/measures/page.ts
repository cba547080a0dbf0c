// The web page's first byte with 10,000 podcasts.
import { Database } from "bun:sqlite";
import { join } from "node:path";
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
  const server = await start(bench.programs, "podkeep", data);
  const [many, few] = await Promise.all(["user0", "user1"].map((name, index) => signIn(server, data, name, index)));
  const lines: Line[] = [];
  for (const [what, path] of [
    ["web page of 10,000 podcasts, first byte", "/podcasts"],
    ["the same, page 50", "/podcasts?page=50"],
    ["the same, a search", "/podcasts?search=99+feeds"],
    ["its OPML export", "/podcasts/podkeep.opml"],
  ] as const) {
    const podkeep = await firstByte(server, path, many ?? "", bench.rounds);
    lines.push({ what, podkeep, baseline: null, unit: "ms", goal: { most: FIRST_BYTE } });
  }
  const [podkeep, baseline] = [lines[0]?.podkeep ?? 0, await firstByte(server, "/podcasts", few ?? "", bench.rounds)];
  const what = `web page of 10,000 podcasts; baseline: ${FEW}`;
  lines.push({ what, podkeep, baseline, unit: "ms", goal: { most: 20 } });
  await server.stop();
  return lines;
}

function addRows({ file }: Data, name: string, count: number): void {
  const db = new Database(file, { readwrite: true });
  const id = db.query<{ id: string }, [string]>("select id from users where name = ?").get(name)?.id ?? "";
  // Older than the user's other ones: timestamps are unique.
  const rows = makeRows(count, "more", FEW).map((row) => ({ ...row, timestamp: row.timestamp - 2 * MANY }));
  db.transaction(() => insertRows(db, id, rows))();
  db.close();
}

/** @returns the session's cookie */
async function signIn(server: Server, { tokens }: Data, name: string, index: number): Promise<string> {
  const body = new URLSearchParams({ name, password: tokens[index] ?? "" });
  const response = await fetch(`${server.url}/sign-in`, { method: "POST", body, redirect: "manual" });
  const [cookie] = response.headers.getSetCookie();
  if (!cookie) throw new Error(`/sign-in answered ${response.status}: ${await response.text()}`);
  return cookie.split(";")[0] ?? "";
}

/** The median of 20 requests in each round, after as many to warm up, in milliseconds. */
async function firstByte(server: Server, path: string, cookie: string, rounds: number): Promise<number> {
  const times: number[] = [];
  for (let request = 0; request < REQUESTS * (rounds + 1); request++) {
    const begin = performance.now();
    const response = await fetch(server.url + path, { headers: { Cookie: cookie }, redirect: "manual" });
    if (request >= REQUESTS) times.push(performance.now() - begin);
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    await response.arrayBuffer();
  }
  return median(times);
}
