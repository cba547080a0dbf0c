// A server that does what the draft's text says and nothing else: one time for each entity.
import type { Clock } from "../../src/clock.ts";
import type { Target } from "../../src/conformance/target.ts";

interface Entity {
  data: { sync_id: string; guid: string; feed_url: string; subscribed_at: string; unsubscribed_at?: string };
  last_updated: string;
  client: string | null;
}
interface Action {
  type: string;
  action: string;
  action_id: string;
  occurred_at: string;
  data: { sync_id?: string; guid?: string; feed_url?: string };
}

function createClock(): Clock {
  let now = Date.parse("2026-01-01T00:00:00Z");
  return {
    now: () => now,
    sleep: async (milliseconds) => {
      now += Math.ceil(milliseconds);
    },
  };
}

const TOKEN = "a token of the letter";

/**
 * Where two places of the text differ on when an action counts: the conventions compare times always, the rules of
 * `unsubscribe` none if the entity is subscribed.
 */
export const READINGS = ["conventions", "rules"] as const;
export type Reading = (typeof READINGS)[number];

/** One account. Names and passwords are those of no user, so logging in is not checked. */
export function createLetterServer(reading: Reading, clock = createClock()): Target {
  const entities: Entity[] = [];
  const time = (text: string) => Date.parse(text);
  const error = (status: number) => Response.json({ error: "Error", description: "An error" }, { status });

  function decide({ action, occurred_at, data }: Action, client: string | null): [string, Entity | null] {
    const found = entities.find(({ data: one }) =>
      action === "subscribe"
        ? one.feed_url === data.feed_url || one.guid === data.guid?.toLowerCase()
        : one.sync_id === data.sync_id?.toLowerCase(),
    );
    if (!found && action !== "subscribe") return ["rejected", null];
    if (!found) {
      const guid = data.guid ?? crypto.randomUUID();
      const made = { sync_id: crypto.randomUUID(), guid, feed_url: data.feed_url ?? "", subscribed_at: occurred_at };
      const entity = { data: made, last_updated: occurred_at, client };
      entities.push(entity);
      return ["applied", entity];
    }
    if (reading === "conventions" && time(occurred_at) <= time(found.last_updated)) return ["ignored", found];
    const { unsubscribed_at } = found.data;
    if (action === "subscribe") {
      if (unsubscribed_at === undefined || time(unsubscribed_at) >= time(occurred_at)) return ["ignored", found];
      delete found.data.unsubscribed_at;
      found.data.subscribed_at = occurred_at;
    } else if (action === "unsubscribe") {
      if (unsubscribed_at !== undefined) return ["ignored", found];
      found.data.unsubscribed_at = occurred_at;
    } else {
      if (time(found.last_updated) >= time(occurred_at)) return ["ignored", found];
      Object.assign(found.data, { guid: data.guid ?? found.data.guid, feed_url: data.feed_url ?? found.data.feed_url });
    }
    Object.assign(found, { last_updated: occurred_at, client });
    return ["applied", found];
  }

  async function act(request: Request, client: string | null): Promise<Response> {
    const { requests } = (await request.json().catch(() => ({}))) as { requests?: Action[] };
    if (!Array.isArray(requests) || requests.length > 30) return error(400);
    const done = new Map(
      requests
        .toSorted((a, b) => time(a.occurred_at) - time(b.occurred_at))
        .map((one) => [one, one.type === "subscription" ? decide(one, client) : (["rejected", null] as const)]),
    );
    const results = requests.map((one) => {
      const [status, entity] = done.get(one) ?? ["rejected", null];
      const reason = status === "rejected" ? { reason: "Entity not found" } : {};
      return { ...one, status, ...reason, data: structuredClone(entity?.data ?? one.data) };
    });
    return Response.json({ results });
  }

  function readChanges(url: URL, client: string | null): Response {
    const { searchParams: query } = url;
    const [since, limit] = [query.get("since"), Number(query.get("limit") ?? 50)];
    const found = entities
      .filter((one) => since === null || time(one.last_updated) > time(since))
      .filter((one) => query.get("include_own") === "true" || client === null || one.client !== client)
      .toSorted((a, b) => time(a.last_updated) - time(b.last_updated));
    const page = found.slice(0, limit);
    const has_next = found.length > page.length;
    query.set("since", page.at(-1)?.last_updated ?? "");
    const results = page.map(({ data, last_updated }) => ({ type: "subscription", last_updated, data }));
    return Response.json({ results, has_next, ...(has_next && { next_since: url.href }) });
  }

  function list(url: URL): Response {
    const { searchParams: query } = url;
    const [start, limit] = [Number(query.get("since") ?? 0), Number(query.get("limit") ?? 30)];
    const all = entities.filter(
      ({ data }) => query.get("include_unsubscribed") === "true" || data.unsubscribed_at === undefined,
    );
    const results = all.slice(start, start + limit).map(({ data }) => data);
    const has_next = all.length > start + limit;
    query.set("since", String(start + limit));
    return Response.json({ results, has_next, ...(has_next && { next_cursor: url.href }) });
  }

  async function send(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname.startsWith("/auth/")) return error(401);
    if (request.headers.get("authorization") !== `Bearer ${TOKEN}`) return error(401);
    const client = request.headers.get("client-id");
    if (url.pathname === "/api/v1/sync")
      return request.method === "POST" ? act(request, client) : readChanges(url, client);
    if (url.pathname === "/api/v1/subscriptions") return list(url);
    const one = entities.find(({ data }) => url.pathname.toLowerCase().endsWith(data.sync_id));
    return one ? Response.json(one.data) : error(404);
  }
  const none = { password: null, second_token: null, second_password: null, other_user: null, other_user_token: null };
  return { url: "http://letter.test", user: "", token: TOKEN, ...none, rate: 0, timeout: 30, send, clock };
}
