// Single requests, where a load is not what is wanted.
import { z } from "zod";
import type { Data } from "./data.ts";
import type { Server } from "./programs.ts";

const Page = z.object({
  next: z.string().optional(),
  subscriptions: z.array(z.object({ guid: z.string() })),
});

/** Sends a request with the first user's token. @throws Error where it is refused */
export async function send({ url }: Pick<Server, "url">, { tokens }: Data, path: string, body?: unknown) {
  const answer = await fetch(new URL(path, url), {
    headers: { Authorization: `Bearer ${tokens[0]}`, "Content-Type": "application/json" },
    ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  return answer;
}

/** Reads a page of the change feed. @throws Error where it is refused or is none */
export async function readPage(server: Server, data: Data, path: string) {
  return Page.parse(await (await send(server, data, path)).json());
}
