// The protocols that the server speaks. Mount another one here.
import type { Hono } from "hono";
import type { App } from "../app.ts";
import type { HttpEnv } from "./env.ts";
import { createLazily, mountLazily, type Serve } from "./lazy.ts";
import { createOpenPodcast } from "./openpodcast/protocol.ts";
import { CLOSED_PATHS, OPEN_PATHS } from "./page-paths.ts";
import type { Shared } from "./shared.ts";

const NEXTCLOUD_PATHS = ["/index.php/*", "/login/v2", "/login/v2/*", "/apps/gpoddersync/*", "/ocs/v2.php/core/*"];
const DRAFT_PATHS = ["/api/v1/*", "/auth/*", "/v1/capabilities", "/openapi-draft.json"];
const GPODDER_PATHS = [
  "/api/*",
  "/subscriptions/:user.(json|opml|txt)",
  "/subscriptions/:user/:device.(json|opml|txt)",
];

/**
 * Mounts all protocols; the Open Podcast API, which comes last, owns every path that no other has.
 * @returns the paths of the others, as patterns
 */
export function mountProtocols(http: Hono<HttpEnv>, app: App, shared: Shared): string[] {
  const openPodcast = createOpenPodcast(app, shared);
  const create = (paths: string[], load: () => Promise<Serve>) => createLazily(http, paths, app, shared, load);
  const nextcloud = create(NEXTCLOUD_PATHS, async () => (await import("./nextcloud/protocol.ts")).serveNextcloud);
  const draft = create(DRAFT_PATHS, async () => (await import("./openpodcast-draft/protocol.ts")).serveDraft);
  const gpodder = create(GPODDER_PATHS, async () => (await import("./gpodder/protocol.ts")).serveGpodder);
  const page = create([...OPEN_PATHS, ...CLOSED_PATHS], async () => {
    const { serveWeb } = await import("./web/protocol.tsx");
    return (routes) => serveWeb(routes, app, shared, openPodcast.document);
  });
  // The draft before gPodder, which has all other paths below /api.
  const drafts = app.config.open_podcast_draft === "on" ? [draft] : [];
  const protocols = [nextcloud, ...drafts, gpodder, page];
  mountLazily(http, protocols);
  openPodcast.mount(http, page.handle);
  return protocols.flatMap(({ paths }) => paths);
}
