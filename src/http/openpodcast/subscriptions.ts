// Routes of subscriptions.
import { createRoute, type OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import { z } from "zod";
import type { App } from "../../app.ts";
import { parseDateTime } from "../../domain/date-time.ts";
import { isRefusal } from "../../errors.ts";
import { listChanges } from "../../services/change-feed.ts";
import { closeWalk, findPageEnd, savePageEnd } from "../../services/page-ends.ts";
import { addSubscriptions, getSubscription, patchSubscription, requestDeletion } from "../../services/subscriptions.ts";
import { requireToken } from "../bearer.ts";
import type { HttpEnv } from "../env.ts";
import { requireJson } from "../json-body.ts";
import type { Shared } from "../shared.ts";
import { conditional, setETag } from "./etag.ts";
import { conditionalBody, describeErrors, jsonBody, notModified, reads, writes } from "./openapi.ts";
import { guid } from "./schemas/common.ts";
import { RECEIVED, Success } from "./schemas/deletions.ts";
import {
  feedArray,
  NewSubscriptions,
  PatchedSubscription,
  readCursor,
  Subscription,
  SubscriptionQuery,
  Subscriptions,
  SubscriptionUpdate,
  writeCursor,
} from "./schemas/subscriptions.ts";
import { readItems, requireFeedUrl, writeAdded, writePage, writePatched, writeSubscription } from "./wire.ts";

const params = z.object({ guid: guid.meta({ description: "Any guid that the subscription ever had" }) });
const DEFAULT_PER_PAGE = 50;

export function serveSubscriptions(api: OpenAPIHono<HttpEnv>, app: App, shared: Shared): void {
  const { max_per_page } = app.config;
  const { forwarded } = shared;
  const limit = (per_page = DEFAULT_PER_PAGE) => Math.min(per_page, max_per_page);
  const token = requireToken(app, shared, "read");
  const read = [token, conditional(forwarded)];
  // After a 304 the app still has its cached page, so remember where that page ended. No validation here: a bad value only
  // produces a key that is never looked up.
  const readPage = conditional(forwarded, async (c, mark) => {
    const end = readCursor(mark);
    const [since, per_page, page] = ["since", "per_page", "page"].map((name) => c.req.query(name) || undefined);
    const number = {
      since: since ? parseDateTime(since) : null,
      per_page: limit(per_page ? Number(per_page) : undefined),
      page: page ? Number(page) : 1,
    };
    if (end && !c.req.query("cursor")) await noteWalk(c, () => savePageEnd(app, c.get("actor"), number, end, false));
  });
  async function noteWalk(c: Context<HttpEnv>, note: () => Promise<void>): Promise<void> {
    try {
      await note();
    } catch (error) {
      // Only an app that counts pages needs it; the others can read while nothing can be written.
      const counts = c.req.query("page") && !c.req.query("cursor");
      if (counts || !isRefusal(error, "unavailable")) throw error;
    }
  }
  const write = requireToken(app, shared, "write");
  const writeJson = [write, requireJson(app.config)];

  api.openapi(
    createRoute({
      ...reads({
        operationId: "getSubscriptions",
        summary: "Retrieve the subscriptions that changed since a timestamp",
        description:
          "The change feed, oldest change first, page by page. Follow `next` until a page has none; then the latest timestamp of all items is the next `since`. Deleted subscriptions stay in it, with `deleted`.",
      }),
      path: "/subscriptions",
      middleware: [token, readPage],
      request: { query: SubscriptionQuery },
      responses: {
        200: conditionalBody("A page of the change feed", Subscriptions),
        ...notModified,
        ...describeErrors("unauthorized", "invalid"),
      },
    }),
    async (c) => {
      const { since = null, cursor = null, ...query } = c.req.valid("query");
      const { page = 1 } = query;
      const per_page = limit(query.per_page);
      const number = { since, per_page, page };
      const actor = c.get("actor");
      const remembered = cursor ? null : await findPageEnd(app, actor, number);
      const changes = await listChanges(app, actor, { ...number, after: cursor ?? remembered }, c.get("clock"));
      const countsOn = query.page !== undefined || changes.next;
      const { end, next: following } = changes;
      if (end && !cursor && countsOn) await noteWalk(c, () => savePageEnd(app, actor, number, end, !following));
      if (cursor && !following) await noteWalk(c, () => closeWalk(app, actor, number));
      const next = changes.next && writeCursor(changes.next);
      const start = remembered && writeCursor(remembered);
      setETag(c, changes.clock, (next || start ? `.${next ?? ""}` : "") + (start ? `.${start}` : ""));
      const url = forwarded.baseUrlOf(c.req.raw, c.env) + c.req.path;
      return c.json(writePage(changes, page, per_page, url, c.req.query("since"), next), 200);
    },
  );

  api.openapi(
    createRoute({
      ...writes("post", {
        operationId: "addSubscription",
        summary: "Add subscriptions",
        description:
          "Each item succeeds or fails separately. Without a guid the one that the podcast namespace computes from the feed URL is used. A feed that is subscribed already is not changed.",
      }),
      path: "/subscriptions",
      middleware: writeJson,
      request: { body: { required: true, content: { "application/json": { schema: feedArray(app.config) } } } },
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

  api.openapi(
    createRoute({
      ...reads({
        operationId: "getSubscription",
        summary: "Retrieve one subscription",
        description: "By any guid that it ever had. If that one was replaced, `new_guid` has the current one.",
      }),
      path: "/subscriptions/{guid}",
      middleware: read,
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

  api.openapi(
    createRoute({
      ...writes("patch", {
        operationId: "updateSubscription",
        summary: "Change a subscription",
        description:
          "Its guid, feed URL or subscribed flag, in this order. A guid or feed URL that belongs to another subscription merges the two.",
      }),
      path: "/subscriptions/{guid}",
      middleware: writeJson,
      request: { params, body: { required: true, content: { "application/json": { schema: SubscriptionUpdate } } } },
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

  api.openapi(
    createRoute({
      ...writes("delete", {
        operationId: "deleteSubscription",
        summary: "Delete a subscription",
        description:
          "Starts a deletion, whose status is at /deletions/{id}. While it is pending, the same id is returned again. To unsubscribe, set `is_subscribed` to false instead.",
      }),
      path: "/subscriptions/{guid}",
      middleware: [write],
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
