// What the gPodder API and Nextcloud's gPodder Sync share: bodies, timestamps, episode actions.
import type { Context } from "hono";
import type { z } from "zod";
import type { App } from "../app.ts";
import { type EpisodeAction, isReadable, publishAction, type ToldAction } from "../domain/episode-actions.ts";
import type { Habits } from "../domain/habits.ts";
import { isObject, LATEST_SECOND, readAction } from "../domain/sent-actions.ts";
import { textKeysFor } from "../domain/text-keys.ts";
import { DomainError } from "../errors.ts";
import type { Client } from "../services/devices/clients.ts";
import { readFeedChanges } from "../services/devices/device-list.ts";
import { uploadFeedChanges } from "../services/devices/device-uploads.ts";
import { readActions } from "../services/listening/episode-actions.ts";
import { uploadActions } from "../services/listening/episode-uploads.ts";
import { takeTurns } from "../turns.ts";
import { appOfRequest, type Protocol } from "./apps.ts";
import { readBody, streamBody } from "./body.ts";
import type { HttpEnv } from "./env.ts";
import { describeFaults } from "./errors.ts";
import { readJsonBytes } from "./json-body.ts";
import { parseArray, readElements } from "./json-elements.ts";
import { mostActionBytes, mostActions, mostValues, requireFew, SHORT_BODY } from "./limits.ts";
import { sendParts, sendText, streamText, WRITTEN, writeArray } from "./response-body.ts";

type Ctx = Context<HttpEnv>;

/** Parses a body as JSON with any Content-Type: mygpoclient calls it a form. @throws DomainError "invalid" */
export async function readJson<T>(c: Ctx, app: App, schema: z.ZodType<T>): Promise<T> {
  const { data, error } = schema.safeParse(await readAnyJson(c, app));
  if (data !== undefined) return data;
  throw invalid(error && describeFaults(error, ["body"]));
}

async function readAnyJson(c: Ctx, { config }: App): Promise<unknown> {
  const bytes = await readJsonBytes(c, config);
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw invalid(["body: not JSON"]);
  }
}

const invalid = (details: string[] = []) => new DomainError("invalid", "The request could not be read", { details });

/** `since` in seconds; 0 if it is missing or no number. */
function sinceOf(c: Ctx): number {
  const since = Math.floor(Number(c.req.query("since") ?? 0));
  return Number.isSafeInteger(since) && since > 0 ? Math.min(since, LATEST_SECOND) : 0;
}

const isHead = (c: Ctx) => c.req.raw.method === "HEAD";

/** What changed since a timestamp, as both protocols write it. */
export async function sendFeedChanges(c: Ctx, app: App, client: Client | null): Promise<Response> {
  const { add, remove, timestamp } = await readFeedChanges(app, c.get("actor"), client, {
    since: sinceOf(c),
    peek: isHead(c),
  });
  if (add.length + remove.length <= WRITTEN) return sendText(c, JSON.stringify({ add, remove, timestamp }));
  return sendParts(c, writeChanges(add, remove, timestamp));
}

function* writeChanges(add: string[], remove: string[], timestamp: number): Generator<string> {
  yield '{"add":';
  yield* writeArray(add);
  yield ',"remove":';
  yield* writeArray(remove);
  yield `,"timestamp":${timestamp}}`;
}

/**
 * The texts of a list; none if it is missing. What is no text is left out, as a URL that can't be read is: it must not keep
 * the others back. By hand, because a schema takes 30 µs of a request that comes alone.
 */
function textsIn(name: string, list: unknown, { max_items }: App["config"]): string[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw invalid([`body.${name}: not an array`]);
  requireFew(list.length, max_items, "podcasts");
  return list.filter((one) => typeof one === "string");
}

/** @returns the timestamp of the response */
export async function receiveFeedChanges(c: Ctx, app: App, client: Client | null): Promise<number> {
  const body = await readAnyJson(c, app);
  if (!isObject(body) || Array.isArray(body)) throw invalid(["body: not an object"]);
  const [add, remove] = [textsIn("add", body["add"], app.config), textsIn("remove", body["remove"], app.config)];
  requireFew(add.length + remove.length, app.config.max_items, "podcasts");
  // gPodder API, Subscriptions: Upload Subscription Changes.
  const keyOf = textKeysFor(add.length + remove.length);
  if (client && !client.habits.queuesTaps && !new Set(add.map(keyOf)).isDisjointFrom(new Set(remove.map(keyOf)))) {
    throw invalid(["body: a feed is both added and removed"]);
  }
  return uploadFeedChanges(app, c.get("actor"), client, { add, remove });
}

/** Episode actions since a timestamp; many are streamed. */
export async function sendActions(c: Ctx, app: App, client: Client | null, protocol: Protocol): Promise<Response> {
  const { timestamp, pages } = await readActions(app, c.get("actor"), client, {
    since: sinceOf(c),
    feed_url: c.req.query("podcast") || null,
    aggregated: c.req.query("aggregated") === "true",
    peek: isHead(c),
  });
  if (!pages) return sendText(c, `{"timestamp":${timestamp},"actions":[]}`);
  const texts = writePages(pages, appOfRequest(c, protocol).habits);
  // An app that gave up asks again, and what it no longer waits for would fill the memory.
  const readPage = () => {
    c.req.raw.signal.throwIfAborted();
    return texts.next();
  };
  const first = await readPage();
  const second = first.done ? first : await readPage();
  const start = `{"timestamp":${timestamp},"actions":[${first.done ? "" : first.value}`;
  if (second.done) return sendText(c, `${start}]}`);
  const list = inOneList(`${start},${second.value}`, texts);
  return c.body(streamText(c, list), 200, { "Content-Type": "application/json" });
}

async function* inOneList(start: string, pages: AsyncIterable<string>): AsyncGenerator<string> {
  yield start;
  for await (const page of pages) yield `,${page}`;
  yield "]}";
}

/** The actions that the app can read, as JSON between commas, a page at a time. */
async function* writePages(pages: AsyncIterable<ToldAction[]>, habits: Habits): AsyncGenerator<string> {
  for await (const page of pages) {
    const readable = page.filter((action) => isReadable(action, habits));
    if (readable.length > 0) yield readable.map((action) => JSON.stringify(publishAction(action, habits))).join(",");
  }
}

/** The elements of a body that is a JSON array: of a short one together, of others while they arrive. */
async function elementsOf(c: Ctx, { config }: App): Promise<unknown[] | AsyncIterable<unknown>> {
  const { max_body } = config;
  const most = mostValues(config);
  const isShort = Number(c.req.header("content-length") ?? Number.NaN) <= Math.min(SHORT_BODY, max_body);
  if (isShort) return parseArray(await readBody(c, max_body), most);
  return readElements(streamBody(c, max_body, mostActionBytes(config)), most);
}

/** Notes for the request log how many elements were left out, and what could not be read of the first one. */
function noteLeftOut(c: Ctx, unread: string): void {
  const { count, reason } = c.get("leftOut") ?? { count: 0, reason: `${unread} can't be read` };
  c.set("leftOut", { count: count + 1, reason });
}

/** The actions in a body. One that can't be read must not keep the others back: apps send them together, again and again. */
async function readActionsIn(c: Ctx, app: App): Promise<EpisodeAction[]> {
  const now = app.clock.now();
  const actions: EpisodeAction[] = [];
  let count = 0;
  const keep = (one: unknown) => {
    requireFew(++count, mostActions(app.config), "episode actions");
    const action = readAction(one, now);
    if ("unread" in action) noteLeftOut(c, `body.${count - 1}${action.unread}`);
    else actions.push(action);
  };
  const elements = await elementsOf(c, app);
  if (Array.isArray(elements)) {
    for (const one of elements) keep(one);
    return actions;
  }
  const giveTurn = takeTurns();
  for await (const one of elements) {
    keep(one);
    await giveTurn();
  }
  return actions;
}

/** @param clientOf the client of a device, if all actions name that one. @returns the timestamp of the response */
export async function receiveActions(
  c: Ctx,
  app: App,
  clientOf: (device: string | null) => Client | null | Promise<Client | null>,
): Promise<number> {
  const actions = await readActionsIn(c, app);
  // Kasts names its device in actions only, or has the cookie of another.
  const named = actions.flatMap(({ device }) => device ?? []);
  const [device = null] = named;
  const client = await clientOf(named.every((one) => one === device) ? device : null);
  // Rhythmbox skips actions that name no device.
  for (const action of actions) action.device ??= client?.device ?? null;
  return uploadActions(app, c.get("actor"), client, actions);
}
