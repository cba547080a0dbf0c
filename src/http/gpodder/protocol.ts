// The gPodder API, version 2, as today's apps use it.
import type { Hono } from "hono";
import type { App } from "../../app.ts";
import { refuseCrossSite } from "../cross-site.ts";
import type { HttpEnv } from "../env.ts";
import { noStore } from "../no-store.ts";
import { sendNothing } from "../response-body.ts";
import type { Shared } from "../shared.ts";
import { endSession, requireScope, requireSignIn } from "../sign-in.ts";
import { serveErrors } from "../sync-errors.ts";
import { requireUserInPath } from "./client.ts";
import { serveDevices } from "./devices.ts";
import { serveEpisodes } from "./episodes.ts";
import { serveLists } from "./lists.ts";
import { serveSubscriptions } from "./subscriptions.ts";

export function serveGpodder(http: Hono<HttpEnv>, app: App, shared: Shared): void {
  http.use(noStore);
  http.use(refuseCrossSite(shared, { page: false }));
  http.use(requireSignIn(app, shared, { sessions: true }));
  serveLogin(http);
  http.use(requireScope);
  serveDevices(http, app);
  serveSubscriptions(http, app);
  serveEpisodes(http, app);
  serveLists(http, app);
  serveErrors(http, app);
}

function serveLogin(http: Hono<HttpEnv>): void {
  // Signed in already; AntennaPod wants exactly 200.
  http.post("/api/2/auth/:user/login.json", requireUserInPath, sendNothing);
  http.post("/api/2/auth/:user/logout.json", requireUserInPath, (c) => {
    endSession(c);
    return sendNothing(c);
  });
}
