// Routes of subscriptions.
import { createRoute, type OpenAPIHono } from "@hono/zod-openapi";
import { z } from "zod";
import type { App } from "../../app.ts";
import { type Changes, listChanges } from "../../services/change-feed.ts";
import { addSubscriptions, getSubscription, patchSubscription, requestDeletion } from "../../services/subscriptions.ts";
import type { HttpEnv } from "../env.ts";
import { answerUnlessSeen } from "./etag.ts";
import type { Guards } from "./guards.ts";
import { describeErrors, jsonBody, notModified, reads, writes } from "./openapi.ts";
import { guid } from "./schemas/common.ts";
import { DeletionReceipt } from "./schemas/deletions.ts";
import {
  AddedSubscriptions,
  NewSubscriptions,
  PatchedSubscription,
  Subscription,
  SubscriptionPage,
  SubscriptionPatch,
  SubscriptionQuery,
  writeCursor,
} from "./schemas/subscriptions.ts";

const params = z.object({ guid: guid.meta({ description: "Any guid that the subscription ever had" }) });

/** Serves subscriptions on `api`. */
export function serveSubscriptions(api: OpenAPIHono<HttpEnv>, app: App, { read, write, body, origins }: Guards): void {
  api.openapi(
    createRoute({
      ...reads("listSubscriptions", "List what changed since a timestamp, oldest change first"),
      path: "/subscriptions",
      middleware: [read],
      request: { query: SubscriptionQuery },
      responses: {
        200: jsonBody("A page of the change feed", SubscriptionPage),
        ...notModified,
        ...describeErrors("unauthorized", "invalid"),
      },
    }),
    (c) => {
      const query = c.req.valid("query");
      const origin = origins.originOf(c.req.raw, c.env);
      return answerUnlessSeen(
        c,
        origin,
        (seen) => listChanges(app, c.get("identity").user_id, query, seen),
        (changes) => c.json(linkPage(changes, origin + c.req.path, c.req.query("since")), 200),
      );
    },
  );

  api.openapi(
    createRoute({
      ...writes("addSubscriptions", "post", "Add subscriptions; each item is decided by itself"),
      path: "/subscriptions",
      middleware: [write, ...body],
      request: { body: { required: true, content: { "application/json": { schema: NewSubscriptions } } } },
      responses: {
        200: jsonBody("What was added and what was not, in the order of the request", AddedSubscriptions),
        ...describeErrors("unauthorized", "invalid", "too_large"),
      },
    }),
    async (c) => c.json(await addSubscriptions(app, c.get("identity").user_id, c.req.valid("json")), 200),
  );

  api.openapi(
    createRoute({
      ...reads("getSubscription", "Read one subscription"),
      path: "/subscriptions/{guid}",
      middleware: [read],
      request: { params },
      responses: {
        200: jsonBody("The subscription", Subscription),
        ...notModified,
        ...describeErrors("unauthorized", "not_found", "invalid", "gone"),
      },
    }),
    (c) => {
      const { guid } = c.req.valid("param");
      return answerUnlessSeen(
        c,
        "",
        () => getSubscription(app, c.get("identity").user_id, guid),
        (subscription) => c.json(subscription, 200),
      );
    },
  );

  api.openapi(
    createRoute({
      ...writes("patchSubscription", "patch", "Change a subscription's guid, address or subscribed flag"),
      path: "/subscriptions/{guid}",
      middleware: [write, ...body],
      request: { params, body: { required: true, content: { "application/json": { schema: SubscriptionPatch } } } },
      responses: {
        200: jsonBody("What was asked for, as it stands now", PatchedSubscription),
        ...describeErrors("unauthorized", "not_found", "invalid", "too_large"),
      },
    }),
    async (c) => {
      const { guid } = c.req.valid("param");
      return c.json(await patchSubscription(app, c.get("identity").user_id, guid, c.req.valid("json")), 200);
    },
  );

  api.openapi(
    createRoute({
      ...writes("deleteSubscription", "delete", "Ask for a subscription to be deleted"),
      path: "/subscriptions/{guid}",
      middleware: [write],
      request: { params },
      responses: {
        202: jsonBody("The request was received; /deletions/{id} tells its outcome", DeletionReceipt),
        ...describeErrors("unauthorized", "not_found", "invalid"),
      },
    }),
    async (c) => c.json(await requestDeletion(app, c.get("identity").user_id, c.req.valid("param").guid), 202),
  );
}

function linkPage(changes: Changes, address: string, since: string | undefined): SubscriptionPage {
  const { total, page, per_page, next, previous, subscriptions } = changes;
  const start = `${address}?${since ? `since=${encodeURIComponent(since)}&` : ""}`;
  const link = (number: number) => `${start}page=${number}&per_page=${per_page}`;
  return {
    total,
    page,
    per_page,
    next: next ? `${link(page + 1)}&cursor=${writeCursor(next)}` : undefined,
    previous: previous ? link(previous) : undefined,
    subscriptions,
  };
}
