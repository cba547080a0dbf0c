// The HTTP server: middleware that all protocols share, and the protocols.
import { type Context, Hono } from "hono";
import type { App } from "../app.ts";
import { DomainError } from "../errors.ts";
import { once } from "../once.ts";
import type { HttpEnv } from "./env.ts";
import { createForwarded } from "./forwarded.ts";
import { expressionFor } from "./lazy.ts";
import { createPathReader } from "./path.ts";
import { mountProtocols } from "./protocols.ts";
import { createRefusalNotes } from "./refusals.ts";
import { createRequestLog } from "./request-log.ts";
import { addHeaders } from "./response-headers.ts";
import { LazyRouter } from "./router.ts";
import type { FindFeed } from "./shared.ts";
import { createThrottle } from "./throttle.ts";

export type Http = Hono<HttpEnv>;

/** @param findFeed missing if the server looks up no feeds */
export function createHttp(app: App, findFeed?: FindFeed): Http {
  const forwarded = createForwarded(app.config, app.log);
  const throttle = createThrottle(app);
  const routes = once(() =>
    expressionFor([...paths, ...http.routes.flatMap(({ method, path }) => (method === "ALL" ? [] : path))]),
  );
  const pathOf = createPathReader(forwarded.basePath, (path) => routes().test(path));
  const http: Http = new Hono<HttpEnv>({ getPath: pathOf, router: new LazyRouter() });
  const shared = { forwarded, throttle, findFeed };
  http.use(addHeaders);
  // Not logged, to keep health checks out of the log.
  http.get("/livez", (c) => c.text("ok"));
  http.get("/readyz", async (c) => {
    await app.database.check();
    return c.text("ok");
  });
  const log = createRequestLog(app, forwarded);
  const noteRefusal = createRefusalNotes(app);
  http.use(async (c, next) => {
    const start = performance.now();
    await next();
    noteRefusal(c);
    await log(c, performance.now() - start);
  });
  http.use(requireHost);
  const paths = mountProtocols(http, app, shared);
  return http;
}

// Without a valid Host header the URL has no origin, and Hono has matched another path than was requested. Two Host headers
// arrive joined by a comma; a proxy may have used either.
function requireHost(c: Context<HttpEnv>, next: () => Promise<void>): Promise<void> {
  if (!URL.canParse(c.req.raw.url) || c.req.header("Host")?.includes(","))
    throw new DomainError("invalid", "Bad Host", { details: ["Host: not a host name"] });
  return next();
}
