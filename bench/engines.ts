// `bun bench/engines.ts [seconds] [rounds]`: one server on a file, one and three on PostgreSQL, side by side.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../src/config.ts";
import { copy } from "../src/services/copy.ts";
import { type Process, startProcess } from "../test/postgres/cluster.ts";
import { startPostgres } from "../test/postgres/server.ts";
import { type Data, fill } from "./data.ts";
import { describeMachine } from "./machine.ts";
import { runLoad } from "./wrk.ts";

const USERS = 300;
const SUBSCRIPTIONS = 200;
/** Connections of all clients together. */
const CONNECTIONS = 48;

const [seconds = 4, rounds = 3] = process.argv.slice(2).map(Number);
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
    "add one": (run) => ({ path: "/subscriptions", send: { add: run } }),
  };
  console.log(
    `\n${USERS} users with ${SUBSCRIPTIONS} subscriptions, ${CONNECTIONS} connections, requests/s (p99 in ms)`,
  );
  for (const [what, load] of Object.entries(loads)) {
    const rates: Record<string, { rate: number; p99: number }[]> = {};
    for (let round = 0; round < rounds; round++) {
      for (const [side, processes] of Object.entries(sides)) {
        const { path, send } = load(`${side.replace(/\W+/g, "-")}-${round}`);
        rates[side] = [...(rates[side] ?? []), await loadAll(processes, path, send, data)];
      }
    }
    for (const [side, results] of Object.entries(rates)) {
      const median = results.toSorted((a, b) => a.rate - b.rate)[Math.floor(results.length / 2)];
      console.log(
        `${what.padEnd(20)}${side.padEnd(24)}${median?.rate.toFixed(0).padStart(7)} (${median?.p99.toFixed(1)})`,
      );
    }
  }
  await Promise.all(
    Object.values(sides)
      .flat()
      .map((one) => one.kill()),
  );
}

/** Shares the connections out evenly, as a load balancer would. */
async function loadAll(processes: Process[], path: string, send: Send, { tokenFile: tokens }: Data) {
  const connections = CONNECTIONS / processes.length;
  const results = await Promise.all(
    processes.map(({ address }, index) =>
      runLoad({
        url: address + path,
        connections,
        seconds,
        tokens,
        ...(send && { send: "add" in send ? { add: `${send.add}-${index}` } : send }),
      }),
    ),
  );
  return {
    rate: results.reduce((sum, { rate }) => sum + rate, 0),
    p99: Math.max(...results.map(({ p99 }) => p99)),
  };
}
