// Single requests.
import { z } from "zod";
import type { Data } from "./data.ts";
import type { Server } from "./programs.ts";

const Page = z.object({
  next: z.string().optional(),
  subscriptions: z.array(z.object({ guid: z.string() })),
});

/** The path of a poll that finds nothing new, also while others write. */
export const emptyPoll = () => `/subscriptions?since=${new Date(Date.now() + 86_400_000).toISOString()}`;

/** Sends a request with the first user's token. @throws Error if the response is not 2xx */
export async function send({ url }: Pick<Server, "url">, { tokens }: Data, path: string, body?: unknown) {
  const response = await fetch(new URL(path, url), {
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
