// An app that speaks the draft of the next Open Podcast API, as strict as its text.
import { z } from "zod";
import { expectEqual, Failure, NotApplicable } from "../expect.ts";
import { followLinks, resolveLink } from "../links.ts";
import type { Answer, Prober, Sent } from "../prober.ts";

export const DRAFT = "Open Podcast API, pull request 171";
/** The source of a check that a scenario demands. */
export const example = (number: number) => `podkeep, docs/open-podcast-draft.md, example ${number}`;
/** The most actions of one request. */
export const MOST_ACTIONS = 30;
/** Milliseconds. */
export const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

const time = z.iso.datetime({ offset: true });

export const Entity = z.looseObject({
  sync_id: z.guid(),
  guid: z.string(),
  feed_url: z.string(),
  subscribed_at: time,
  unsubscribed_at: time.nullish(),
});
type Entity = z.infer<typeof Entity>;

/** What two descriptions of an entity have to agree on, however they write it. */
export const factsOf = ({ sync_id, guid, feed_url, subscribed_at, unsubscribed_at }: Entity) => ({
  sync_id: sync_id.toLowerCase(),
  guid: guid.toLowerCase(),
  feed_url,
  subscribed_at: Date.parse(subscribed_at),
  unsubscribed_at: unsubscribed_at == null ? null : Date.parse(unsubscribed_at),
});

const Result = z.looseObject({
  type: z.string(),
  action: z.string(),
  action_id: z.string(),
  status: z.enum(["applied", "ignored", "rejected"]),
  reason: z.string().optional(),
  data: z.unknown(),
});
const Results = z.looseObject({ results: z.array(Result) });
type Result = z.infer<typeof Result>;

const SyncPage = z.looseObject({
  results: z.array(z.looseObject({ type: z.string(), last_updated: time, data: Entity })),
  has_next: z.boolean().optional(),
  has_more: z.boolean().optional(),
  next_since: z.string().nullish(),
});
export type SyncItem = z.infer<typeof SyncPage>["results"][number];

const ListPage = z.looseObject({
  results: z.array(Entity),
  has_next: z.boolean(),
  next_cursor: z.string().nullish(),
});

const ErrorBody = z.looseObject({ error: z.string(), description: z.string() });

export interface Action {
  type: string;
  action: string;
  action_id: string;
  occurred_at: string;
  data: Record<string, unknown>;
}

/** @param at Unix milliseconds, by the client's clock */
export const action = (kind: string, at: number, data: Record<string, unknown>): Action => ({
  type: "subscription",
  action: kind,
  action_id: crypto.randomUUID(),
  occurred_at: new Date(at).toISOString(),
  data,
});

/** One installation of an app, with its own Client-ID. @param token default: the first one of the run */
export function draftClient(prober: Prober, token = prober.target.token) {
  if (token === null) throw new NotApplicable("it needs a bearer token: add --token");
  const own = { Authorization: `Bearer ${token}`, "Client-ID": crypto.randomUUID() };
  const request = (method: string, path: string, { body, headers }: Sent = {}): Promise<Answer> =>
    prober.request(method, path, { body, headers: { ...own, ...headers } });

  const made = new Set<string>();

  /** Sends actions. @returns their results @throws Failure if they are not as many */
  async function send(...requests: Action[]): Promise<Result[]> {
    const answer = await request("POST", "/api/v1/sync", { body: { requests } });
    expectEqual("status", answer.status, 200);
    const { results } = answer.json(Results);
    expectEqual("results", results.length, requests.length);
    for (const { status, data } of results) {
      const { sync_id } = z.looseObject({ sync_id: z.string().optional() }).catch({}).parse(data);
      if (status === "rejected" || sync_id === undefined) continue;
      made.add(sync_id);
    }
    if (made.size > 0) prober.atEnd(made, removeMade);
    return results;
  }

  async function removeMade(): Promise<void> {
    const undo = [...made].map((sync_id) => action("unsubscribe", prober.clock.now(), { sync_id }));
    while (undo.length > 0) await request("POST", "/api/v1/sync", { body: { requests: undo.splice(0, MOST_ACTIONS) } });
  }

  /** Sends one action. @returns its status, and the entity unless it was rejected */
  async function say(kind: string, at: number, data: Record<string, unknown>) {
    const [result] = await send(action(kind, at, data));
    if (!result) throw new Failure("No result");
    if (result.status === "rejected") throw new Failure(`${kind} was rejected: ${result.reason}`);
    const read = Entity.safeParse(result.data);
    if (!read.success) throw new Failure(`The result of ${kind} has no entity in \`data\``);
    return { status: result.status, entity: read.data };
  }

  async function page(path: string) {
    const answer = await request("GET", path);
    expectEqual("status", answer.status, 200);
    return answer.json(SyncPage);
  }

  /** Reads page after page, as long as they say that more follow. @returns whether the last one says so */
  async function walk(
    first: string,
    read: (path: string) => Promise<{ more: boolean | undefined; next: string | null | undefined }>,
  ): Promise<boolean | undefined> {
    let says: boolean | undefined;
    await followLinks(first, async (path) => {
      const { more, next } = await read(path);
      says = more;
      return more && next ? resolveLink(next, `${prober.target.url}/`).href : undefined;
    });
    return says;
  }

  /** Reads all changes, by following next_since. @returns whether the last page says that more follow */
  const walkChanges = (query: string, take: (page: SyncItem[]) => void = () => {}) =>
    walk(`/api/v1/sync?${query}`, async (path) => {
      const { results, has_next, has_more, next_since } = await page(path);
      take(results);
      return { more: has_next ?? has_more ?? false, next: next_since };
    });

  /** All changes after a timestamp. @param query more parameters */
  async function changes(since: string | undefined, query = ""): Promise<SyncItem[]> {
    const items: SyncItem[] = [];
    const start = since === undefined ? "" : `&since=${encodeURIComponent(since)}`;
    await walkChanges(query + start, (results) => {
      items.push(...results);
    });
    return items;
  }

  /** Reads all subscriptions, by following next_cursor. @returns whether the last page says that more follow */
  const walkList = (query: string, take: (page: Entity[]) => Promise<void> = async () => {}) =>
    walk(`/api/v1/subscriptions?${query}`, async (path) => {
      const answer = await request("GET", path);
      expectEqual("status", answer.status, 200);
      const { results, has_next, next_cursor } = answer.json(ListPage);
      await take(results);
      return { more: has_next, next: next_cursor };
    });

  /** All subscriptions. @param between what happens after each page */
  async function list(query = "", between?: (page: Entity[]) => Promise<void>): Promise<Entity[]> {
    const entities: Entity[] = [];
    await walkList(query, async (results) => {
      entities.push(...results);
      await between?.(results);
    });
    return entities;
  }

  return {
    request,
    send,
    say,
    page,
    walkChanges,
    changes,
    walkList,
    list,
    /** The feeds of this check that are listed, in the order of their URLs. */
    ours: async (query = "") =>
      (await list(query))
        .map(({ feed_url }) => feed_url)
        .filter(prober.isOurs)
        .sort(),
    /** Where the changes end now, by another client. */
    now: async () => (await changes(undefined, "limit=500&include_own=true")).at(-1)?.last_updated,
  };
}

/** An app that has subscribed to a feed. @param ago milliseconds, by its clock */
export async function openSubscribed(prober: Prober, ago: number) {
  const [app, feed_url, now] = [draftClient(prober), prober.feed(), prober.clock.now()];
  const { entity } = await app.say("subscribe", now - ago, { feed_url });
  return { app, feed_url, now, sync_id: entity.sync_id, guid: entity.guid };
}

export const statusesOf = (results: { status: string }[]) => results.map(({ status }) => status);

export const feedsOf = (items: SyncItem[]) => [...new Set(items.map(({ data }) => data.feed_url))].sort();

/** Demands an error with the draft's body. */
export function expectDraftError(answer: Answer, status: number): void {
  expectEqual("status", answer.status, status);
  answer.json(ErrorBody);
}
