// One run of wrk, the load generator.
import { join } from "node:path";
import { z } from "zod";

export interface Load {
  url: string;
  connections: number;
  seconds: number;
  /** A file with one token a line; requests take them in turn. */
  tokens: string;
  /** What is sent: GETs, with an If-None-Match or without, or POSTs of one new item each. */
  send?: { get: string } | { add: string };
}

const Result = z.object({ rate: z.number(), p50: z.number(), p99: z.number(), failed: z.number() });

/** Requests a second, latencies in milliseconds. */
export type Result = z.infer<typeof Result>;

/** Runs a load to its end. @throws Error where any request failed */
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
