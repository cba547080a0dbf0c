// Cross-origin requests: open for routes that take bearer tokens, so that web players can sync.
import type { MiddlewareHandler } from "hono";
import type { HttpEnv } from "./env.ts";

/** What scripts may read of a response, besides what browsers always show them. */
export const EXPOSED = "ETag,Retry-After,WWW-Authenticate,X-Request-Id";

/**
 * Lets scripts of any origin use a route; they need a token, and there are no cookies. Not hono/cors, which makes Hono
 * build each response three times.
 * @param methods that they may use, headers that they may send, and headers that they may read, each separated by commas
 */
export function allowAnyOrigin(methods: string, headers: string, exposed = EXPOSED): MiddlewareHandler<HttpEnv> {
  const preflight = {
    "Access-Control-Max-Age": "86400",
    "Access-Control-Allow-Methods": methods,
    "Access-Control-Allow-Headers": headers,
  };
  return async (c, next) => {
    if (c.req.raw.method === "OPTIONS") c.res = new Response(null, { status: 204, headers: preflight });
    else await next();
    c.res.headers.set("Access-Control-Allow-Origin", "*");
    c.res.headers.set("Access-Control-Expose-Headers", exposed);
  };
}
