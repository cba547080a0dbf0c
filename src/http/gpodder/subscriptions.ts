// Routes of subscription changes.
import type { Hono } from "hono";
import type { App } from "../../app.ts";
import type { HttpEnv } from "../env.ts";
import { receiveFeedChanges, sendFeedChanges } from "../sync-requests.ts";
import { waitInLine } from "../whole-lists.ts";
import { clientOf, nameDeviceOf, requireUserInPath } from "./client.ts";

export function serveSubscriptions(http: Hono<HttpEnv>, app: App): void {
  const path = "/api/2/subscriptions/:user/:device";
  http.get(path, requireUserInPath, waitInLine, (c) => {
    nameDeviceOf(c, c.req.param("device"));
    return sendFeedChanges(c, app, clientOf(c));
  });
  http.post(path, requireUserInPath, async (c) => {
    nameDeviceOf(c, c.req.param("device"));
    return c.json({ timestamp: await receiveFeedChanges(c, app, clientOf(c)), update_urls: [] });
  });
}
