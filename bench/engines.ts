// `npm run bench:engines -- [seconds] [rounds]`: one server on a file, one and three servers on PostgreSQL.
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../src/config/settings.ts";
import { copy } from "../src/services/transfer.ts";
import { type Process, startProcess } from "../test/support/cluster.ts";
import { startPostgres } from "../test/support/postgres.ts";
import { type Data, fill } from "./data.ts";
import { describeMachine } from "./machine.ts";
import { readCount, readOrEnd } from "./options.ts";
import { processorTimeOf, statOf } from "./processor-time.ts";
import { median } from "./rounds.ts";
import { addOne, runLoad } from "./wrk.ts";

const USERS = 300;
const SUBSCRIPTIONS = 200;
/** Connections of all clients together. */
const CONNECTIONS = 48;

const [, , typedSeconds = "4", typedRounds = "3"] = process.argv;
const seconds = readOrEnd(() => readCount("seconds", typedSeconds));
const rounds = readOrEnd(() => readCount("rounds", typedRounds));
const folder = mkdtempSync(join(tmpdir(), "podkeep-engines-"));
const postgres = await startPostgres(true);
try {
  const data = await fill(join(folder, "data"), { users: USERS, subscriptions: SUBSCRIPTIONS });
  await postgres.createDatabase("podkeep");
  const url = postgres.url("podkeep");
  console.log(`${describeMachine()}\n`);
  await measureCopy(data, url);
  await measureLoads(data, url);
} finally {
  await postgres.remove();
  rmSync(folder, { recursive: true, force: true });
}

async function measureCopy(data: Data, url: string): Promise<void> {
  const { config } = readConfig({ data_dir: folder }, {});
  for (const [from, to] of [
    [data.file, url],
    [url, join(folder, "back", "podkeep.db")],
  ] as const) {
    const start = performance.now();
    const { counts } = await copy(from, to, config, () => {});
    const rows = Object.values(counts).reduce((sum, count) => sum + count);
    const rate = Math.round(rows / ((performance.now() - start) / 1000));
    console.log(`copy ${from === url ? "from" : "to"} PostgreSQL: ${rows} rows, copied and compared, ${rate} rows/s`);
  }
}

type Send = Parameters<typeof runLoad>[0]["send"];

async function measureLoads(data: Data, url: string): Promise<void> {
  const pg = { database_url: url };
  const sides: Record<string, Process[]> = {
    "file, 1 server": [await startProcess({ data_dir: data.folder })],
    "PostgreSQL, 1 server": [await startProcess(pg)],
    "PostgreSQL, 3 servers": await Promise.all([pg, pg, pg].map(startProcess)),
  };
  const loads: Record<string, (run: string) => { path: string; send: Send }> = {
    "poll, nothing new": () => ({ path: `/subscriptions?since=${new Date().toISOString()}`, send: { get: "" } }),
    "page of 50": () => ({ path: "/subscriptions?per_page=50", send: { get: "" } }),
    "add one": (run) => ({ path: "/subscriptions", send: { post: addOne(`${run}-{process}`) } }),
  };
  const load = `${USERS} users with ${SUBSCRIPTIONS} subscriptions, ${CONNECTIONS} connections`;
  console.log(`\n${load}; processor time of one request in the servers and in PostgreSQL\n`);
  console.log("| what | where | requests/s | p99 ms | servers µs | PostgreSQL µs |\n|---|---|---|---|---|---|");
  for (const [what, load] of Object.entries(loads)) {
    const results: Record<string, Result[]> = {};
    for (let round = 0; round < rounds; round++) {
      for (const [side, processes] of Object.entries(sides)) {
        const { path, send } = load(`${side.replace(/\W+/g, "-")}-${round}`);
        results[side] = [...(results[side] ?? []), await loadAll(processes, path, send, data)];
      }
    }
    for (const [side, all] of Object.entries(results)) {
      const figures = (["rate", "p99", "servers", "postgres"] as const).map((name) =>
        median(all.map((one) => one[name])),
      );
      console.log(`| ${[what, side, ...figures.map((figure) => figure.toFixed(0))].join(" | ")} |`);
    }
  }
  await Promise.all(
    Object.values(sides)
      .flat()
      .map((one) => one.kill()),
  );
}

/** Rate in requests/s, p99 in ms, processor time of a request in µs. */
interface Result {
  rate: number;
  p99: number;
  servers: number;
  postgres: number;
}

/** Distributes the connections evenly, like a load balancer. */
async function loadAll(processes: Process[], path: string, send: Send, { headers }: Data): Promise<Result> {
  const usage = () =>
    [processorTimeOf(processes.map(({ pid }) => pid)), processorTimeOf(childrenOf(postgres.pid()))] as const;
  const before = usage();
  const results = await Promise.all(
    processes.map(({ address }, index) =>
      runLoad({
        url: address + path,
        connections: CONNECTIONS / processes.length,
        seconds,
        headers,
        ...(send && { send: "post" in send ? { post: send.post.replace("{process}", String(index)) } : send }),
      }),
    ),
  );
  const after = usage();
  const rate = results.reduce((sum, one) => sum + one.rate, 0);
  const perRequest = (which: 0 | 1) => ((after[which] - before[which]) / (rate * seconds)) * 1e6;
  return { rate, p99: Math.max(...results.map(({ p99 }) => p99)), servers: perRequest(0), postgres: perRequest(1) };
}

function childrenOf(parent: number): number[] {
  const pids = readdirSync("/proc").map(Number).filter(Number.isInteger);
  return pids.filter((pid) => existsSync(`/proc/${pid}/stat`) && Number(statOf(pid)[1]) === parent);
}
