// Single requests.
import { z } from "zod";
import { messageOf } from "../src/errors.ts";
import type { Data } from "./data.ts";
import type { Server } from "./programs.ts";

const Page = z.object({
  next: z.string().optional(),
  subscriptions: z.array(z.object({ guid: z.string() })),
});

/** Milliseconds for a response; the largest requests take seconds. */
const PATIENCE = 60_000;

/** Sends a request. @throws Error if there is no response in a minute */
export const ask = (url: string | URL, init: RequestInit = {}): Promise<Response> =>
  fetch(url, { signal: AbortSignal.timeout(PATIENCE), ...init }).catch((error) => {
    throw new Error(`${url}: ${messageOf(error)}`);
  });

/** The path of a poll that finds nothing new, also while others write. */
export const emptyPoll = () => `/subscriptions?since=${new Date(Date.now() + 86_400_000).toISOString()}`;

/** Sends a request with the first user's token. @throws Error if the response is not 2xx */
export async function send({ url }: Pick<Server, "url">, { tokens }: Data, path: string, body?: unknown) {
  const response = await ask(new URL(path, url), {
    headers: { Authorization: `Bearer ${tokens[0]}`, "Content-Type": "application/json" },
    ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return response;
}

/** Reads a page of the change feed. @throws Error if the response is not 2xx or not a page */
export async function readPage(server: Server, data: Data, path: string) {
  return Page.parse(await (await send(server, data, path)).json());
}
