// Routes of subscriptions.
import { createRoute } from "@hono/zod-openapi";
import { z } from "zod";
import type { App } from "../../app.ts";
import {
  addSubscriptions,
  getSubscription,
  patchSubscription,
  requestDeletion,
} from "../../services/subscriptions/subscriptions.ts";
import { requireToken } from "../bearer.ts";
import { requireJson } from "../json-body.ts";
import { type Api, sentBody } from "../openapi.ts";
import type { Shared } from "../shared.ts";
import { conditional, setETag } from "./etag.ts";
import { conditionalBody, describeErrors, jsonBody, notModified, reads, writes } from "./openapi.ts";
import { guid } from "./schemas/common.ts";
import { RECEIVED, Success } from "./schemas/deletions.ts";
import {
  feedArray,
  NewSubscriptions,
  PatchedSubscription,
  Subscription,
  SubscriptionUpdate,
} from "./schemas/subscriptions.ts";
import { readItems, requireFeedUrl, writeAdded, writePatched, writeSubscription } from "./wire.ts";

const params = z.object({ guid: guid.meta({ description: "Any guid that the subscription ever had" }) });

export function serveSubscriptions(api: Api, app: App, shared: Shared): void {
  serveAdding(api, app, shared);
  serveReading(api, app, shared);
  serveChanging(api, app, shared);
  serveDeleting(api, app, shared);
}

function serveAdding(api: Api, app: App, shared: Shared): void {
  api.openapi(
    createRoute({
      ...writes("post", {
        operationId: "addSubscription",
        summary: "Add subscriptions",
        description:
          "Each item succeeds or fails separately. Without a guid the one that the podcast namespace computes from the feed URL is used. A feed that is subscribed already is not changed.",
      }),
      path: "/subscriptions",
      middleware: [requireToken(app, shared, "write"), requireJson(app.config)],
      request: sentBody(feedArray(app.config)),
      responses: {
        200: jsonBody("What was added and what was not, in the order of the request", NewSubscriptions),
        ...describeErrors("unauthorized", "invalid", "too_large"),
      },
    }),
    async (c) => {
      const { subscriptions } = c.req.valid("json");
      const { items, failure } = await readItems(subscriptions);
      const added = await addSubscriptions(app, c.get("actor"), items);
      return c.json({ success: added.map(writeAdded), failure }, 200);
    },
  );
}

function serveReading(api: Api, app: App, shared: Shared): void {
  api.openapi(
    createRoute({
      ...reads({
        operationId: "getSubscription",
        summary: "Retrieve one subscription",
        description: "By any guid that it ever had. If that one was replaced, `new_guid` has the current one.",
      }),
      path: "/subscriptions/{guid}",
      middleware: [requireToken(app, shared, "read"), conditional(shared.forwarded)],
      request: { params },
      responses: {
        200: conditionalBody("The subscription", Subscription),
        ...notModified,
        ...describeErrors("unauthorized", "not_found", "invalid", "gone"),
      },
    }),
    async (c) => {
      const { guid } = c.req.valid("param");
      const row = await getSubscription(app, c.get("actor"), guid);
      setETag(c, row.clock);
      return c.json(writeSubscription(row, guid), 200);
    },
  );
}

function serveChanging(api: Api, app: App, shared: Shared): void {
  api.openapi(
    createRoute({
      ...writes("patch", {
        operationId: "updateSubscription",
        summary: "Change a subscription",
        description:
          "Its guid, feed URL or subscribed flag, in this order. A guid or feed URL that belongs to another subscription merges the two.",
      }),
      path: "/subscriptions/{guid}",
      middleware: [requireToken(app, shared, "write"), requireJson(app.config)],
      request: { params, ...sentBody(SubscriptionUpdate) },
      responses: {
        200: jsonBody("The fields of the request, as they are now", PatchedSubscription),
        ...describeErrors("unauthorized", "not_found", "invalid", "too_large"),
      },
    }),
    async (c) => {
      const { guid } = c.req.valid("param");
      const patch = c.req.valid("json");
      const { new_guid, new_feed_url, is_subscribed } = patch;
      const feed = new_feed_url === undefined ? undefined : requireFeedUrl(new_feed_url);
      const after = await patchSubscription(app, c.get("actor"), guid, { new_guid, feed, is_subscribed });
      return c.json(writePatched(after, guid, patch), 200);
    },
  );
}

function serveDeleting(api: Api, app: App, shared: Shared): void {
  api.openapi(
    createRoute({
      ...writes("delete", {
        operationId: "deleteSubscription",
        summary: "Delete a subscription",
        description:
          "Starts a deletion, whose status is at /deletions/{id}. While it is pending, the same id is returned again. To unsubscribe, set `is_subscribed` to false instead.",
      }),
      path: "/subscriptions/{guid}",
      middleware: [requireToken(app, shared, "write")],
      request: { params },
      responses: {
        202: jsonBody("The request was received; /deletions/{id} has its outcome", Success),
        ...describeErrors("unauthorized", "not_found", "invalid"),
      },
    }),
    async (c) => {
      const deletion_id = await requestDeletion(app, c.get("actor"), c.req.valid("param").guid);
      return c.json({ deletion_id, message: RECEIVED }, 202);
    },
  );
}
