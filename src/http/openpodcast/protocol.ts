// The Open Podcast API: its routes at / and at /v1.
import type { Hono, NotFoundHandler } from "hono";
import type { App } from "../../app.ts";
import { DomainError } from "../../errors.ts";
import { once } from "../../once.ts";
import { allowAnyOrigin } from "../cors.ts";
import type { HttpEnv } from "../env.ts";
import { NO_PATH, respondToErrors } from "../errors.ts";
import { type Api, createApi } from "../openapi.ts";
import type { Shared } from "../shared.ts";
import { serveChangeFeed } from "./change-feed.ts";
import { serveDeletions } from "./deletions.ts";
import { type Methods, respondToError } from "./errors.ts";
import { describeApi, registerComponents } from "./openapi.ts";
import { serveSubscriptions } from "./subscriptions.ts";

interface OpenPodcast {
  /**
   * Mounts the API, and with it the responses to unknown paths and to errors of shared middleware.
   * @param page responds to unknown paths that a browser opens
   */
  mount(http: Hono<HttpEnv>, page: NotFoundHandler<HttpEnv>): void;
  /** The OpenAPI document. */
  document(): object;
}

export function createOpenPodcast(app: App, shared: Shared): OpenPodcast {
  const api = createRoutes(app, shared);
  const document = once(() => {
    registerComponents(api);
    return api.getOpenAPI31Document(describeApi(shared.forwarded.basePath));
  });
  api.get("/openapi.json", (c) => c.json(document()));
  const methods = refuseOtherMethods(api);
  return {
    document,
    mount(http, page) {
      http.route("/", api);
      http.route("/v1", api);
      http.notFound((c) => {
        const opensPage = ["GET", "HEAD"].includes(c.req.method) && c.req.header("Accept")?.includes("text/html");
        return opensPage ? page(c) : respondToError(NO_PATH, c, methods);
      });
      respondToErrors(http, app.log, (error, c) => respondToError(error, c, methods));
    },
  };
}

function createRoutes(app: App, shared: Shared): Api {
  const api = createApi();
  const cors = allowAnyOrigin("GET,HEAD,POST,PATCH,DELETE", "Authorization,Content-Type,If-None-Match");
  for (const path of ["/subscriptions", "/subscriptions/:guid", "/deletions/:id", "/openapi.json"]) api.use(path, cors);
  serveChangeFeed(api, app, shared);
  serveSubscriptions(api, app, shared);
  serveDeletions(api, app, shared);
  return api;
}

/** Makes another method on a known path 405, and gives the methods of each path for Allow. */
function refuseOtherMethods(api: Hono<HttpEnv>): Methods {
  const methods = new Map<string, Set<string>>();
  for (const { path, method } of api.routes) {
    if (method === "ALL") continue;
    const known = methods.get(path) ?? new Set();
    methods.set(path, known.add(method));
    if (method === "GET") known.add("HEAD");
  }
  for (const path of methods.keys()) {
    api.all(path, () => {
      throw new DomainError("method_not_allowed", "Method not allowed");
    });
  }
  return methods;
}
