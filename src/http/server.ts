// The HTTP face: middleware, routes at / and at /v1, errors.
import { OpenAPIHono } from "@hono/zod-openapi";
import { type Context, Hono } from "hono";
import { requestId } from "hono/request-id";
import type { App } from "../app.ts";
import { DomainError } from "../errors.ts";
import type { HttpEnv } from "./env.ts";
import { serveHealth } from "./health.ts";
import { allowAnyOrigin } from "./openpodcast/cors.ts";
import { serveDeletions } from "./openpodcast/deletions.ts";
import { answerError, invalidInput } from "./openpodcast/errors.ts";
import { createGuards } from "./openpodcast/guards.ts";
import { DOCUMENT } from "./openpodcast/openapi.ts";
import { serveSubscriptions } from "./openpodcast/subscriptions.ts";
import { reportRequests } from "./request-log.ts";

export type Http = Hono<HttpEnv>;

/** Puts the HTTP face on the app. */
export function createHttp(app: App): Http {
  const api = createApi(app);
  const http = new Hono<HttpEnv>();
  http.use((c, next) => (c.req.method === "HEAD" ? next().then(() => tellLength(c)) : next()));
  http.use(requestId());
  // Before the log, which the watchers would fill.
  serveHealth(http, app);
  http.use(reportRequests(app));
  http.use((c, next) => {
    // Without a proper Host header the URL has no origin, and Hono has routed another path than was asked. Two of them
    // arrive joined by a comma: which one a proxy before us went by, nobody knows.
    if (!URL.canParse(c.req.raw.url) || c.req.header("Host")?.includes(","))
      throw new DomainError("invalid", "Bad Host", { details: ["Host: not a host name"] });
    return next();
  });
  http.route("/", api);
  http.route("/v1", api);
  http.notFound((c) => answerError(app.log, new DomainError("not_found", "No such path"), c));
  http.onError((error, c) => answerError(app.log, error, c));
  return http;
}

// Hono drops the body of an answer to HEAD, and the runtime then says that its length is 0 (RFC 9110 section 8.6).
async function tellLength(c: Context<HttpEnv>): Promise<void> {
  if (c.res.body) c.header("Content-Length", String((await c.res.clone().arrayBuffer()).byteLength));
}

function createApi(app: App): OpenAPIHono<HttpEnv> {
  const api = new OpenAPIHono<HttpEnv>({
    defaultHook: (result) => {
      if (!result.success) throw invalidInput(result.error);
    },
  });
  const guards = createGuards(app);
  for (const path of ["/subscriptions", "/subscriptions/:guid", "/deletions/:id", "/openapi.json"]) {
    api.use(path, allowAnyOrigin);
  }
  serveSubscriptions(api, app, guards);
  serveDeletions(api, app, guards);
  let document: object | undefined;
  api.get("/openapi.json", (c) => {
    document ??= api.getOpenAPI31Document(DOCUMENT);
    return c.json(document);
  });
  api.openAPIRegistry.registerComponent("securitySchemes", "bearer", { type: "http", scheme: "bearer" });
  refuseOtherMethods(api);
  return api;
}

// A known path with another method is 405 with the methods it has.
function refuseOtherMethods(api: OpenAPIHono<HttpEnv>): void {
  const methods = new Map<string, Set<string>>();
  for (const { path, method } of api.routes) {
    if (method === "ALL") continue;
    const known = methods.get(path) ?? new Set();
    methods.set(path, known.add(method));
    if (method === "GET") known.add("HEAD");
  }
  for (const [path, known] of methods) {
    api.all(path, () => {
      throw new DomainError("method_not_allowed", "Method not allowed", { allow: [...known] });
    });
  }
}
