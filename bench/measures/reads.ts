// Reads at 32 connections, against the bare server on the same database.
import { join } from "node:path";
import { readPage, send } from "../client.ts";
import { compareRates } from "../compare.ts";
import { fill, settle } from "../data.ts";
import { type Side, start } from "../programs.ts";
import type { Bench } from "../rounds.ts";
import type { Line } from "../table.ts";

const CONNECTIONS = 32;

export async function measureReads(bench: Bench): Promise<Line[]> {
  const data = await fill(join(bench.folder, "reads"), { users: 1, subscriptions: 200, deletions: 1 });
  const servers = {
    podkeep: await start(bench.programs, "podkeep", data),
    bare: await start(bench.programs, "bare", data),
  };
  await settle(data);
  const [item] = (await readPage(servers.podkeep, data, "/subscriptions?per_page=1")).subscriptions;
  const lines = [
    await compare("poll with since, nothing new", `/subscriptions?since=${new Date().toISOString()}`, 0.8),
    await compare("poll with If-None-Match, 304", "/subscriptions", 0.8, true),
    await compare("page of 50 of 200", "/subscriptions?per_page=50", 0.7),
    await compare("GET one subscription", `/subscriptions/${item?.guid}`, 0.8),
    await compare("GET one deletion", "/deletions/1", 0.8),
  ];
  await servers.podkeep.stop();
  await servers.bare.stop();
  return lines;

  async function compare(what: string, path: string, least: number, conditional = false): Promise<Line> {
    const etagOf = async (side: Side) => (await send(servers[side], data, path)).headers.get("ETag") ?? "";
    const known = conditional ? { podkeep: await etagOf("podkeep"), bare: await etagOf("bare") } : null;
    const load = (side: Side) => {
      const get = known?.[side] ?? "";
      return { url: path, connections: CONNECTIONS, headers: data.headers, send: { get } };
    };
    return compareRates(bench, { what, goal: { least }, servers, load });
  }
}
