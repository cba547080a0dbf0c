// Cross-origin requests: open for routes that take bearer tokens, so that web players can sync.
import type { MiddlewareHandler } from "hono";
import type { HttpEnv } from "./env.ts";

const ALWAYS = Object.entries({
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "ETag,Retry-After,WWW-Authenticate,X-Request-Id",
});

/**
 * Lets scripts of any origin use a route; they need a token, and there are no cookies. Not hono/cors, which makes Hono
 * build each response three times.
 * @param methods that they may use, and headers that they may send, each separated by commas
 */
export function allowAnyOrigin(methods: string, headers: string): MiddlewareHandler<HttpEnv> {
  const preflight = {
    "Access-Control-Max-Age": "86400",
    "Access-Control-Allow-Methods": methods,
    "Access-Control-Allow-Headers": headers,
  };
  return async (c, next) => {
    if (c.req.raw.method === "OPTIONS") c.res = new Response(null, { status: 204, headers: preflight });
    else await next();
    for (const [name, value] of ALWAYS) c.res.headers.set(name, value);
  };
}
