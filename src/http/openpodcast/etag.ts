// Conditional requests (RFC 9110 section 13): the user's clock says whether anything can have changed.
import type { Context, MiddlewareHandler } from "hono";
import type { App } from "../../app.ts";
import { readUserClock } from "../../services/change-feed.ts";
import { VERSION } from "../../version.ts";
import type { HttpEnv } from "../env.ts";
import type { Forwarded } from "../forwarded.ts";

/** Reads the user's clock and responds 304 if the client has the response of that clock. */
export function conditional(app: App, forwarded: Forwarded): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const known = c.req.header("If-None-Match");
    // The base URL is in the links of the response, and so a part of it.
    const base = forwarded.baseUrlOf(c.req.raw, c.env);
    const tail = Bun.hash(`${VERSION} ${c.get("actor").user_id} ${base} ${c.req.url}`).toString(36);
    c.set("etagTail", tail);
    if (known === undefined) return next();
    const clock = await readUserClock(app, c.get("actor"));
    if (known.includes(etagOf(c, clock))) return notModified(c, clock);
    await next();
    if (known.trim() === "*" && c.res.status === 200) c.res = c.body(null, 304);
    return;
  };
}

const etagOf = (c: Context<HttpEnv>, clock: number) => `"${clock.toString(36)}-${c.get("etagTail")}"`;

/** Names the response by the user's clock at which its body was read. */
export function setETag(c: Context<HttpEnv>, clock: number): void {
  c.header("ETag", etagOf(c, clock));
}

function notModified(c: Context<HttpEnv>, clock: number): Response {
  setETag(c, clock);
  return c.body(null, 304);
}
