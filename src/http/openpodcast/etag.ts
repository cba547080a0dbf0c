// Conditional requests (RFC 9110 section 13): the user's clock says whether anything can have changed.
import type { MiddlewareHandler } from "hono";
import type { App } from "../../app.ts";
import { readUserClock } from "../../services/change-feed.ts";
import { VERSION } from "../../version.ts";
import type { HttpEnv } from "../env.ts";
import type { Forwarded } from "../forwarded.ts";

/**
 * Reads the user's clock for the handler, and responds 304 if the client has the response of that clock. The clock is read
 * before the body: a change between the two is in the body, and the next request with this ETag gets it again.
 */
export function conditional(app: App, forwarded: Forwarded): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const actor = c.get("actor");
    const clock = await readUserClock(app, actor);
    // The base URL is in the links of the response, and so a part of it.
    const base = forwarded.baseUrlOf(c.req.raw, c.env);
    const tag = `"${clock.toString(36)}-${Bun.hash(`${VERSION} ${actor.user_id} ${base} ${c.req.url}`).toString(36)}"`;
    c.header("ETag", tag);
    c.header("Cache-Control", "private, no-cache");
    const known = c.req.header("If-None-Match");
    if (known?.includes(tag)) return c.body(null, 304);
    c.set("clock", clock);
    await next();
    if (known?.trim() === "*" && c.res.status === 200) c.res = c.body(null, 304);
    return;
  };
}
