// The protocols that the server speaks. Mount another one here.
import type { Hono } from "hono";
import type { App } from "../app.ts";
import type { HttpEnv } from "./env.ts";
import { mountLazily } from "./lazy.ts";
import { createOpenPodcast } from "./openpodcast/protocol.ts";
import { CLOSED_PATHS, OPEN_PATHS } from "./page-paths.ts";
import type { Shared } from "./shared.ts";

const NEXTCLOUD_PATHS = ["/index.php/*", "/login/v2", "/login/v2/*", "/apps/gpoddersync/*", "/ocs/v2.php/core/*"];
const DRAFT_PATHS = ["/api/v1/*", "/auth/*", "/v1/capabilities", "/openapi-draft.json"];
const GPODDER_PATHS = ["/api/*"];
/** /subscriptions/USER.json, /subscriptions/USER/DEVICE.json. Not patterns of Hono: with them its faster router gives up. */
const GPODDER_LISTS = /^\/subscriptions(\/[^/]+){1,2}\.(json|opml|txt)$/;

/** Mounts all protocols; the Open Podcast API, which comes last, owns every path that no other has. */
export function mountProtocols(http: Hono<HttpEnv>, app: App, shared: Shared): void {
  const openPodcast = createOpenPodcast(app, shared);
  mountLazily(http, NEXTCLOUD_PATHS, app, shared, async () => (await import("./nextcloud/protocol.ts")).serveNextcloud);
  if (app.config.open_podcast_draft === "on") {
    // Before gPodder, which has all other paths below /api.
    mountLazily(
      http,
      DRAFT_PATHS,
      app,
      shared,
      async () => (await import("./openpodcast-draft/protocol.ts")).serveDraft,
    );
  }
  const gpodder = mountLazily(
    http,
    GPODDER_PATHS,
    app,
    shared,
    async () => (await import("./gpodder/protocol.ts")).serveGpodder,
  );
  http.all("/subscriptions/*", (c, next) => (GPODDER_LISTS.test(c.req.path) ? gpodder(c) : next()));
  const page = mountLazily(http, [...OPEN_PATHS, ...CLOSED_PATHS], app, shared, async () => {
    const { serveWeb } = await import("./web/protocol.tsx");
    return (routes) => serveWeb(routes, app, shared, openPodcast.document);
  });
  openPodcast.mount(http, page);
}
