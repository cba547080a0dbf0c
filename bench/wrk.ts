// One run of wrk, the load generator.
import { join } from "node:path";
import { z } from "zod";

export interface Load {
  url: string;
  connections: number;
  seconds: number;
  /** Path of a file with one token a line; requests use them in turn. */
  tokens: string;
  /** GETs, with this If-None-Match unless empty, or POSTs of one new feed each, whose URL has this prefix. */
  send?: { get: string } | { add: string };
}

const Result = z.object({ rate: z.number(), p50: z.number(), p99: z.number(), failed: z.number() });

/** Requests a second, latencies in milliseconds. */
export type Result = z.infer<typeof Result>;

/** Runs a load. @throws Error if a request failed */
export async function runLoad({ url, connections, seconds, tokens, send = { get: "" } }: Load): Promise<Result> {
  const kind = "add" in send ? ["add", send.add] : ["get", send.get];
  const script = join(import.meta.dir, "requests.lua");
  const wrk = Bun.spawn(["wrk", "-t1", `-c${connections}`, `-d${seconds}s`, "-s", script, url, "--", tokens, ...kind], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const output = await new Response(wrk.stdout).text();
  const result = Result.parse(JSON.parse(output.trim().split("\n").at(-1) ?? ""));
  if (result.failed > 0) throw new Error(`${result.failed} requests to ${url} failed:\n${output}`);
  return result;
}
