// The protocol of Nextcloud's gPodder Sync app, and its login flow.
import type { Hono } from "hono";
import type { App } from "../../app.ts";
import { respondToErrors } from "../app-errors.ts";
import type { HttpEnv } from "../env.ts";
import type { Shared } from "../shared.ts";
import { serveLogin } from "./login.ts";
import { serveSync } from "./sync.ts";

export function serveNextcloud(http: Hono<HttpEnv>, app: App, shared: Shared): void {
  serveLogin(http, app, shared);
  serveSync(http, app, shared);
  respondToErrors(http, app);
}
