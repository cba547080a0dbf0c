// Routes of subscription changes.
import type { Hono } from "hono";
import type { App } from "../../app.ts";
import type { HttpEnv } from "../env.ts";
import { receiveFeedChanges, sendFeedChanges } from "../sync-requests.ts";
import { waitInLine } from "../whole-lists.ts";
import { clientOf, requireUserInPath } from "./client.ts";

export function serveSubscriptions(http: Hono<HttpEnv>, app: App): void {
  const path = "/api/2/subscriptions/:user/:device";
  http.get(path, requireUserInPath, waitInLine, (c) => sendFeedChanges(c, app, clientOf(c, c.req.param("device"))));
  http.post(path, requireUserInPath, async (c) => {
    const timestamp = await receiveFeedChanges(c, app, clientOf(c, c.req.param("device")));
    return c.json({ timestamp, update_urls: [] });
  });
}
