// Routes of whole subscription lists: JSON, OPML and plain text.
import type { Context, Hono } from "hono";
import { z } from "zod";
import type { App } from "../../app.ts";
import { decodeOpml, OpmlError, readOpmlInTurns } from "../../domain/opml.ts";
import { DomainError } from "../../errors.ts";
import type { Client } from "../../services/devices/clients.ts";
import { listDeviceFeeds } from "../../services/devices/device-list.ts";
import { uploadFeedList } from "../../services/devices/device-uploads.ts";
import { readBody } from "../body.ts";
import type { HttpEnv } from "../env.ts";
import { listOf, requireFew } from "../limits.ts";
import { sendOpml } from "../opml.ts";
import { sendArray, sendNothing, sendParts } from "../response-body.ts";
import { readJson } from "../sync-requests.ts";
import { waitInLine } from "../whole-lists.ts";
import { clientOf, requireUserInPath } from "./client.ts";

/** A URL in a JSON list, or an object as in the list of a user. */
const Url = z.union([z.string(), z.object({ url: z.string() }).transform(({ url }) => url)], {
  error: "not a feed URL",
});

export function serveLists(http: Hono<HttpEnv>, app: App): void {
  // Once, because zod compiles it at its first use.
  const urlList = listOf(Url, app.config);
  const readList = (c: Context<HttpEnv>, file: string): Promise<string[]> =>
    file.endsWith(".json") ? readJson(c, app, urlList) : readTextList(c, app, file);

  const whole = "/subscriptions/:user";
  http.get(whole, requireUserInPath, waitInLine, async (c) => {
    const file = c.req.param("user");
    if (!file.endsWith(".json")) return sendList(c, app, null, file);
    // `url` as gpodder.net has it, `feed` as oPodSync; the rest isn't known without the feed.
    const feeds = await listDeviceFeeds(app, c.get("actor"), null);
    const describe = ({ feed_url, title }: (typeof feeds)[number]) => ({
      url: feed_url,
      feed: feed_url,
      title: title ?? feed_url,
      website: null,
      description: null,
    });
    return sendArray(c, feeds.map(describe));
  });
  http.put(whole, requireUserInPath, async (c) =>
    receiveList(c, app, clientOf(c), await readList(c, c.req.param("user"))),
  );

  const path = "/subscriptions/:user/:device";
  http.get(path, requireUserInPath, waitInLine, (c) => {
    const file = c.req.param("device");
    return sendList(c, app, clientOf(c, file), file);
  });
  http.put(path, requireUserInPath, async (c) => {
    const file = c.req.param("device");
    return receiveList(c, app, clientOf(c, file), await readList(c, file));
  });
}

async function sendList(c: Context<HttpEnv>, app: App, client: Client | null, file: string): Promise<Response> {
  const feeds = await listDeviceFeeds(app, c.get("actor"), client, { peek: c.req.raw.method === "HEAD" });
  if (file.endsWith(".json"))
    return sendArray(
      c,
      feeds.map(({ feed_url }) => feed_url),
    );
  if (file.endsWith(".txt")) {
    // Hono leaves this type to the runtime, which forgets it if the response has a cookie.
    return sendParts(
      c,
      feeds.values().map(({ feed_url }) => `${feed_url}\n`),
      "text/plain; charset=utf-8",
    );
  }
  return sendOpml(c, app, feeds);
}

async function receiveList(c: Context<HttpEnv>, app: App, client: Client, feeds: string[]): Promise<Response> {
  requireFew(feeds.length, app.config.max_items, "podcasts");
  await uploadFeedList(app, c.get("actor"), client, feeds);
  return sendNothing(c);
}

async function readTextList(c: Context<HttpEnv>, { config }: App, file: string): Promise<string[]> {
  const bytes = await readBody(c, config.max_body);
  if (file.endsWith(".txt")) {
    // One line more than may be, to see that there are too many.
    const lines = new TextDecoder()
      .decode(bytes)
      .trim()
      .split(/[\r\n]+/, config.max_items + 1);
    return lines.map((line) => line.trim()).filter((line) => line !== "");
  }
  try {
    return (await readOpmlInTurns(decodeOpml(bytes))).map(({ feed_url }) => feed_url);
  } catch (error) {
    if (!(error instanceof OpmlError)) throw error;
    throw new DomainError("invalid", error.message, { details: [`body: ${error.message}`] });
  }
}
