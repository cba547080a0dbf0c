// One run of wrk, the load generator.
import { join } from "node:path";
import { z } from "zod";
import { requireTool } from "./programs.ts";

export interface Load {
  /** `{user}` in its path is the number of the header that is used, from 0. */
  url: string;
  connections: number;
  seconds: number;
  /** Path of a file with one header a line that signs in; requests use them in turn. */
  headers: string;
  /** GETs, with this If-None-Match unless empty, or POSTs of this text; `{n}` in it is the number of the request. */
  send?: { get: string } | { post: string };
}

/** Seconds that wrk may take to end. */
const PATIENCE = 30;

const Result = z.object({ rate: z.number(), p50: z.number(), p99: z.number(), failed: z.number() });

/** Requests a second, latencies in milliseconds. */
export type Result = z.infer<typeof Result>;

/** Runs a load. @throws Error if a request failed, or wrk is missing */
export async function runLoad({ url, connections, seconds, headers, send = { get: "" } }: Load): Promise<Result> {
  requireTool("wrk", "wrk");
  const { origin } = new URL(url);
  const script = ["-s", join(import.meta.dir, "requests.lua"), origin, "--", headers, url.slice(origin.length)];
  const kind = "post" in send ? ["post", send.post] : ["get", send.get];
  const wrk = Bun.spawn(["wrk", "-t1", `-c${connections}`, `-d${seconds}s`, ...script, ...kind], {
    stdout: "pipe",
    stderr: "inherit",
    timeout: (seconds + PATIENCE) * 1000,
  });
  const output = await new Response(wrk.stdout).text();
  if ((await wrk.exited) !== 0) throw new Error(`wrk ${url} failed or did not end:\n${output}`);
  const result = Result.parse(JSON.parse(output.trim().split("\n").at(-1) ?? ""));
  if (result.failed > 0) throw new Error(`${result.failed} requests to ${url} failed:\n${output}`);
  return result;
}

/** The body of a POST to the Open Podcast API that adds one new feed; `prefix` is of one run alone. */
export const addOne = (prefix: string) =>
  `{"subscriptions":[{"feed_url":"https://feeds.example.com/${prefix}/{n}.xml"}]}`;
