// Lists of podcasts as OPML.
import type { Context } from "hono";
import type { App } from "../app.ts";
import { writeOpml } from "../domain/opml.ts";
import type { HttpEnv } from "./env.ts";
import { sendParts } from "./response-body.ts";

/** Responds with feeds of the user who is signed in. */
export function sendOpml(
  c: Context<HttpEnv>,
  { clock }: App,
  feeds: Parameters<typeof writeOpml>[0],
): Promise<Response> {
  const head = { title: `Podcasts of ${c.get("userName")}`, date_created: new Date(clock.now()).toUTCString() };
  return sendParts(c, writeOpml(feeds, head), "text/x-opml; charset=utf-8");
}
