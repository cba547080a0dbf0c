// Variants of this server that break a rule of the draft on batches, clients at once, and parameters.
import { NOWHERE } from "../../src/conformance/check.ts";
import { asks, type Broken, instead, itemsOf, type Json, matches } from "./changes.ts";
import type { Send } from "./target.ts";

const SYNC = { method: "GET", path: /^\/api\/v1\/sync$/ };
const ACT = { ...SYNC, method: "POST" };
const LIST = { method: "GET", path: /^\/api\/v1\/subscriptions$/ };

const actionsOf = async (request: Request): Promise<Json[]> =>
  itemsOf((await (request.clone() as Request).json().catch(() => ({}))) as Json, "requests");
const dataOf = (action: Json | undefined) => (action?.["data"] ?? {}) as Json;

/** Rejects all of a batch that has an unknown sync_id. */
const rejectsAll: Broken["change"] = instead(ACT, async (request) => {
  const sent = await actionsOf(request);
  if (sent.length < 3 || !sent.some((one) => dataOf(one)["sync_id"] === NOWHERE)) return null;
  const results = sent.map((one) => ({ ...one, status: "rejected", reason: "Entity not found" }));
  return Response.json({ results });
});

/** Undoes an unsubscribe if another client updates the entity with no request between them. */
function losesOne(send: Send): Send {
  let last: Request | null = null;
  return async (request) => {
    const first = last;
    last = matches(ACT, request) ? (request.clone() as Request) : null;
    const second = last;
    const response = await send(request);
    if (!first || !second) return response;
    const [[before], [after]] = [await actionsOf(first), await actionsOf(second)];
    const isPair = before?.["action"] === "unsubscribe" && after?.["action"] === "update";
    if (!isPair || first.headers.get("client-id") === second.headers.get("client-id")) return response;
    const { feed_url } = dataOf(after);
    const undo = {
      ...before,
      action: "subscribe",
      action_id: crypto.randomUUID(),
      occurred_at: new Date(Date.parse(String(before["occurred_at"])) + 1).toISOString(),
      data: { feed_url },
    };
    const { url, method, headers } = request;
    await send(new Request(url, { method, headers, body: JSON.stringify({ requests: [undo] }) }));
    return response;
  };
}

/** Takes a parameter for true if it is there. */
const isTrueIfThere = (name: string) => (query: URLSearchParams) => {
  if (query.has(name)) query.set(name, "true");
};

/** Gives the time of the first subscribe for ever. */
function keepsFirstTime(send: Send): Send {
  const times = new Map<string, string>();
  return async (request) => {
    const response = await send(request);
    if (!matches(ACT, request) || !response.ok) return response;
    const body = (await response.json()) as Json;
    for (const result of itemsOf(body, "results")) {
      const data = dataOf(result);
      const [id, at] = [String(data["sync_id"]), String(data["subscribed_at"])];
      if (!times.has(id)) times.set(id, at);
      if ("subscribed_at" in data) data["subscribed_at"] = times.get(id);
    }
    return Response.json(body);
  };
}

export const brokenDraftBatches: Broken[] = [
  {
    breaks: ["openpodcast-draft/action/a-rejected-one-keeps-no-other-back"],
    does: "rejects a batch with an unknown sync_id",
    change: rejectsAll,
  },
  {
    breaks: ["openpodcast-draft/action/applied-at-once-is-applied"],
    does: "writes the whole entity, as it was before another client changed it",
    change: losesOne,
  },
  {
    breaks: [
      "openpodcast-draft/action/unsubscribe",
      "openpodcast-draft/action/retry-gives-what-is",
      "openpodcast-draft/sync/every-change-is-told",
    ],
    does: "keeps the time of the first subscribe",
    change: keepsFirstTime,
  },
  {
    breaks: ["openpodcast-draft/sync/own-changes-are-left-out"],
    does: "takes include_own=false for true",
    change: asks(SYNC, isTrueIfThere("include_own")),
  },
  {
    breaks: ["openpodcast-draft/list/unsubscribed-only-if-wanted"],
    does: "takes include_unsubscribed=false for true",
    change: asks(LIST, isTrueIfThere("include_unsubscribed")),
  },
  {
    breaks: ["openpodcast-draft/list/nonsense-is-no-500"],
    does: "divides by the limit",
    change: instead({ path: /^\/api\/v1\// }, ({ url }) =>
      /limit=0\b/.test(url) ? new Response("", { status: 500 }) : null,
    ),
  },
];
