// Routes of the draft's sync endpoint: send actions, and read what others changed.
import { createRoute } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { App } from "../../app.ts";
import { authenticateLogin } from "../../services/accounts/login-tokens.ts";
import { type ActionResult, applyActions, type SentAction } from "../../services/openpodcast-draft/sync-actions.ts";
import { listSync } from "../../services/openpodcast-draft/sync-entities.ts";
import { requireToken } from "../bearer.ts";
import type { HttpEnv } from "../env.ts";
import { describeFaults } from "../errors.ts";
import { requireJson } from "../json-body.ts";
import { type Api, sentBody } from "../openapi.ts";
import type { Shared } from "../shared.ts";
import { waitIfLarge } from "../whole-lists.ts";
import { describeErrors, jsonBody, SIGNED_IN } from "./openapi.ts";
import { Action, ClientHeaders, DEFAULT_LIMITS, SyncPage, SyncQuery, SyncRequest, SyncResponse } from "./schemas.ts";
import { pageUrl, writeEntity, writeTime } from "./wire.ts";

const TAGS = { tags: ["Synchronization"] };

export function serveSync(api: Api, app: App, shared: Shared): void {
  serveSending(api, app, shared);
  serveReading(api, app, shared);
}

function serveSending(api: Api, app: App, shared: Shared): void {
  api.openapi(
    createRoute({
      ...TAGS,
      ...SIGNED_IN,
      method: "post",
      operationId: "postSync",
      summary: "Send up to 30 actions",
      description: "They are done in the order of occurred_at, each once.",
      path: "/api/v1/sync",
      middleware: [requireToken(app, shared, "write", authenticateLogin), requireJson(app.config)],
      request: { headers: ClientHeaders, ...sentBody(SyncRequest) },
      responses: {
        200: jsonBody("The result of each action", SyncResponse),
        ...describeErrors("invalid", "unauthorized", "forbidden", "too_large"),
      },
    }),
    async (c) => {
      const { requests } = c.req.valid("json");
      const read = requests.map(readAction);
      const sent = read.filter((one) => "action_id" in one);
      const client = clientOf(c, c.req.valid("header"));
      const done = sent.length > 0 ? await applyActions(app, c.get("actor"), client, sent) : [];
      const results = requests.map((request, index) => {
        const one = read[index];
        const result = one && "action_id" in one ? done[sent.indexOf(one)] : undefined;
        return writeResult(request, result, one && "reason" in one ? one.reason : undefined);
      });
      return c.json({ results }, 200);
    },
  );
}

function serveReading(api: Api, app: App, shared: Shared): void {
  api.openapi(
    createRoute({
      ...TAGS,
      ...SIGNED_IN,
      method: "get",
      operationId: "fetchSync",
      summary: "Read what changed",
      description:
        "Oldest change first, page by page. When there is no next page, the last `last_updated` is the next `since`.",
      path: "/api/v1/sync",
      middleware: [requireToken(app, shared, "read", authenticateLogin), waitIfLarge("limit")],
      request: { headers: ClientHeaders, query: SyncQuery },
      responses: {
        200: jsonBody("A page of changes", SyncPage),
        ...describeErrors("invalid", "unauthorized"),
      },
    }),
    async (c) => {
      const { since = null, limit = DEFAULT_LIMITS.sync, include_own } = c.req.valid("query");
      const leaveOut = include_own === "true" ? null : clientOf(c, c.req.valid("header"));
      const page = { since, limit: Math.min(limit, app.config.max_per_page), leaveOut };
      const { items, next } = await listSync(app, c.get("actor"), page);
      const results: SyncPage["results"] = items.map(({ changed_at, entity }) => ({
        type: "subscription",
        last_updated: writeTime(changed_at),
        data: writeEntity(entity),
      }));
      const has_next = next !== null;
      const following = next === null ? {} : { next_since: pageUrl(c, shared, writeTime(next)) };
      return c.json({ results, has_next, has_more: has_next, ...following }, 200);
    },
  );
}

/** The installation that sends a request: its Client-ID is its own claim, so it counts with its credential only. */
function clientOf(c: Context<HttpEnv>, { "client-id": id }: { "client-id"?: string | undefined }): string | null {
  return id === undefined ? null : `${c.get("actor").id} ${id}`;
}

function readAction(request: unknown): SentAction | { reason: string } {
  const { data: read, error } = Action.safeParse(request);
  if (!read) return { reason: describeFaults(error)[0] ?? "" };
  const { action, action_id, occurred_at, data } = read;
  const { sync_id = null, guid = null, feed_url: feed = null } = data;
  const says = JSON.stringify([action, sync_id, guid, feed?.feed_url ?? null]);
  return { action, action_id, occurred_at, sync_id, guid, feed, request_hash: Bun.SHA256.hash(says, "hex") };
}

type Sent = SyncRequest["requests"][number];

function writeResult(request: Sent, result: ActionResult | undefined, refused: string | undefined) {
  const { type, action, action_id, data } = request;
  const reason = refused ?? result?.reason;
  return {
    type,
    action,
    action_id,
    status: result?.status ?? ("rejected" as const),
    ...(reason !== undefined && { reason }),
    data: result?.entity ? writeEntity(result.entity) : data,
  };
}
