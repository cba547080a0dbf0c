// Request logging and metrics.
import type { MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import type { App } from "../app.ts";
import type { HttpEnv } from "./env.ts";

/** The path of middleware that runs before all routes. */
const ANY = "/*";

/** Logs and counts every request by its route's pattern, because paths may hold secrets. */
export function logRequests({ log, metrics }: App): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const start = performance.now();
    await next();
    const duration = performance.now() - start;
    const matched = routePath(c, -1);
    const [method, route, status] = [c.req.method, matched === ANY ? null : matched, c.res.status];
    log.info({
      method,
      route,
      status,
      duration_ms: Math.round(duration * 1000) / 1000,
      user_id: c.get("actor")?.user_id,
      request_id: c.get("requestId"),
    });
    metrics?.answered({ method, route, status, seconds: duration / 1000 });
  };
}
