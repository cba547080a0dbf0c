// Routes of Nextcloud's gPodder Sync app.
import type { Context, Hono } from "hono";
import type { App } from "../../app.ts";
import { type Client, identifyClient } from "../../services/devices/clients.ts";
import { deviceOfToken } from "../../services/devices/devices.ts";
import { appOfRequest } from "../apps.ts";
import { refuseCrossSite } from "../cross-site.ts";
import type { HttpEnv } from "../env.ts";
import type { Shared } from "../shared.ts";
import { nameDevice, requireScope, requireSignIn } from "../sign-in.ts";
import { receiveActions, receiveFeedChanges, sendActions, sendFeedChanges } from "../sync-requests.ts";
import { waitForEpisodes, waitInLine } from "../whole-lists.ts";

export function serveSync(http: Hono<HttpEnv>, app: App, shared: Shared): void {
  for (const place of ["/index.php/apps/gpoddersync", "/apps/gpoddersync"]) {
    const signIn = requireSignIn(app, shared, { sessions: false });
    http.use(`${place}/*`, refuseCrossSite(shared, { page: false }), signIn, requireScope);
    http.get(`${place}/subscriptions`, waitInLine, (c) => sendFeedChanges(c, app, clientOf(c)));
    http.post(`${place}/subscription_change/create`, async (c) =>
      c.json({ timestamp: await receiveFeedChanges(c, app, clientOf(c)) }),
    );
    http.get(`${place}/episode_action`, waitForEpisodes, (c) => sendActions(c, app, clientOf(c), "nextcloud"));
    http.post(`${place}/episode_action/create`, async (c) =>
      c.json({ timestamp: await receiveActions(c, app, () => clientOf(c)) }),
    );
  }
}

/** A token is one app's; the password is many's, and nothing else names the device. */
function clientOf(c: Context<HttpEnv>): Client | null {
  const { kind, id } = c.get("actor");
  if (kind !== "token" || id === null) return null;
  nameDevice(c, deviceOfToken(id));
  return identifyClient(c.get("actor"), appOfRequest(c, "nextcloud"));
}
