// Cross-origin requests: open for the API's routes, so that web players can sync.
import type { MiddlewareHandler } from "hono";
import type { HttpEnv } from "./env.ts";

const ALWAYS = Object.entries({
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "ETag,Retry-After,WWW-Authenticate,X-Request-Id",
});
const PREFLIGHT = {
  "Access-Control-Max-Age": "86400",
  "Access-Control-Allow-Methods": "GET,HEAD,POST,PATCH,DELETE",
  "Access-Control-Allow-Headers": "Authorization,Content-Type,If-None-Match",
};

/**
 * Lets scripts of any origin use a route; they need a token, and there are no cookies. Not hono/cors, which makes Hono
 * build each response three times.
 */
export const allowAnyOrigin: MiddlewareHandler<HttpEnv> = async (c, next) => {
  if (c.req.raw.method === "OPTIONS") c.res = new Response(null, { status: 204, headers: PREFLIGHT });
  else await next();
  for (const [name, value] of ALWAYS) c.res.headers.set(name, value);
};
