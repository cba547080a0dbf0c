// Routes of the draft that read subscriptions.
import { createRoute } from "@hono/zod-openapi";
import type { App } from "../../app.ts";
import { authenticateLogin } from "../../services/accounts/login-tokens.ts";
import { getEntity, listEntities } from "../../services/openpodcast-draft/sync-entities.ts";
import { requireToken } from "../bearer.ts";
import type { Api } from "../openapi.ts";
import type { Shared } from "../shared.ts";
import { waitIfLarge } from "../whole-lists.ts";
import { describeErrors, jsonBody, SIGNED_IN } from "./openapi.ts";
import { DEFAULT_LIMITS, Entity, EntityParams, ListQuery, Subscriptions } from "./schemas.ts";
import { pageUrl, writeEntity } from "./wire.ts";

const TAGS = { tags: ["Subscriptions"] };

export function serveSubscriptions(api: Api, app: App, shared: Shared): void {
  const { max_per_page } = app.config;
  const middleware = [requireToken(app, shared, "read", authenticateLogin), waitIfLarge("limit")];

  api.openapi(
    createRoute({
      ...TAGS,
      ...SIGNED_IN,
      method: "get",
      operationId: "getSubscriptions",
      summary: "Read all subscriptions, page by page",
      path: "/api/v1/subscriptions",
      middleware,
      request: { query: ListQuery },
      responses: { 200: jsonBody("A page", Subscriptions), ...describeErrors("invalid", "unauthorized") },
    }),
    async (c) => {
      const { since, limit = DEFAULT_LIMITS.subscriptions, include_unsubscribed } = c.req.valid("query");
      const page = { after: Number(since ?? 0), limit: Math.min(limit, max_per_page) };
      const all = include_unsubscribed === "true";
      const { entities, next } = await listEntities(app, c.get("actor"), { ...page, all });
      const following = next === null ? {} : { next_cursor: pageUrl(c, shared, String(next)) };
      return c.json({ results: entities.map(writeEntity), has_next: next !== null, ...following }, 200);
    },
  );

  api.openapi(
    createRoute({
      ...TAGS,
      ...SIGNED_IN,
      method: "get",
      operationId: "getSubscription",
      summary: "Read one subscription, or what it became part of",
      path: "/api/v1/subscriptions/{sync_id}",
      middleware,
      request: { params: EntityParams },
      responses: {
        200: jsonBody("The subscription", Entity),
        ...describeErrors("invalid", "unauthorized", "not_found"),
      },
    }),
    async (c) => c.json(writeEntity(await getEntity(app, c.get("actor"), c.req.valid("param").sync_id)), 200),
  );
}
