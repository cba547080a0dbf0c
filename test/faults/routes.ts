// The routes of each protocol, as its Hono app has them: tests that list routes miss none.
import { Hono } from "hono";
import type { HttpEnv } from "../../src/http/env.ts";
import { createForwarded } from "../../src/http/forwarded.ts";
import { serveGpodder } from "../../src/http/gpodder/protocol.ts";
import type { Serve } from "../../src/http/lazy.ts";
import { serveNextcloud } from "../../src/http/nextcloud/protocol.ts";
import { serveDraft } from "../../src/http/openpodcast-draft/protocol.ts";
import { createThrottle } from "../../src/http/throttle.ts";
import { serveWeb } from "../../src/http/web/protocol.tsx";
import type { TestApp } from "../support/app.ts";

export interface Route {
  protocol: "gpodder" | "nextcloud" | "web" | "openpodcast" | "draft";
  method: string;
  /** Hono's pattern. */
  path: string;
  /** Both: `GET /podcasts`. */
  name: string;
}

/** All routes; those of files have a name of their content, given as `*` here. */
export function routesOf({ app, http }: TestApp): Route[] {
  const shared = {
    forwarded: createForwarded(app.config),
    throttle: createThrottle(app),
  };
  const served = (serve: Serve) => {
    const routes = new Hono<HttpEnv>();
    serve(routes, app, shared);
    return routes;
  };
  const list = (protocol: Route["protocol"], { routes }: Pick<Hono, "routes">) => {
    // ALL is middleware, a protocol that is loaded later, or the answer to other methods.
    const named = routes
      .filter(({ method }) => method !== "ALL")
      .map(({ method, path }) => `${method} ${path.replace(/^\/assets\/.*/, "/assets/*")}`);
    return [...new Set(named)].map((name): Route => {
      const [method = "", path = ""] = name.split(" ");
      return { protocol, method, path, name };
    });
  };
  return [
    ...list("gpodder", served(serveGpodder)),
    ...list("nextcloud", served(serveNextcloud)),
    ...list("draft", served(serveDraft)),
    ...list(
      "web",
      served((routes, ...rest) => serveWeb(routes, ...rest, () => ({}))),
    ),
    ...list("openpodcast", http),
  ];
}
