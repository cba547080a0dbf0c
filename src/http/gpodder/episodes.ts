// Routes of episode actions.
import type { Hono } from "hono";
import type { App } from "../../app.ts";
import type { HttpEnv } from "../env.ts";
import { receiveActions, sendActions } from "../sync-requests.ts";
import { waitForEpisodes } from "../whole-lists.ts";
import { clientIfNamed, clientOf, requireUserInPath } from "./client.ts";

export function serveEpisodes(http: Hono<HttpEnv>, app: App): void {
  const path = "/api/2/episodes/:user";
  http.get(path, requireUserInPath, waitForEpisodes, async (c) =>
    sendActions(c, app, await clientIfNamed(c, app), "gpodder"),
  );
  http.post(path, requireUserInPath, async (c) =>
    c.json({ timestamp: await receiveActions(c, app, (device) => clientIfNamed(c, app, device)), update_urls: [] }),
  );
  // As oPodSync has it.
  http.post("/api/2/episodes/:user/:device", requireUserInPath, async (c) => {
    const client = clientOf(c, c.req.param("device"));
    return c.json({ timestamp: await receiveActions(c, app, () => client), update_urls: [] });
  });
}
