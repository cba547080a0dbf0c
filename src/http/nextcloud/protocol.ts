// The protocol of Nextcloud's gPodder Sync app, and its login flow.
import type { Hono } from "hono";
import type { App } from "../../app.ts";
import type { HttpEnv } from "../env.ts";
import { noStore } from "../no-store.ts";
import type { Shared } from "../shared.ts";
import { serveErrors } from "../sync-errors.ts";
import { serveAppPassword } from "./app-password.ts";
import { serveLogin } from "./login.ts";
import { serveSync } from "./sync.ts";

export function serveNextcloud(http: Hono<HttpEnv>, app: App, shared: Shared): void {
  http.use(noStore);
  serveLogin(http, app, shared);
  serveAppPassword(http, app, shared);
  serveSync(http, app, shared);
  serveErrors(http, app);
}
