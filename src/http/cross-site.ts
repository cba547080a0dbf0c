// Requests that a browser sends for another site's page: refused, because it may add the user's credentials.
import { createMiddleware } from "hono/factory";
import { DomainError } from "../errors.ts";
import type { HttpEnv } from "./env.ts";
import type { Shared } from "./shared.ts";

/**
 * Refuses requests of other sites, by Sec-Fetch-Site, or by Origin if a browser sends only that. Apps send neither.
 * @param links true to let people follow links from other sites
 */
export function refuseCrossSite({ forwarded }: Shared, { links }: { links: boolean }) {
  return createMiddleware<HttpEnv>(async (c, next) => {
    const site = c.req.header("Sec-Fetch-Site");
    const origin = c.req.header("Origin");
    const follows = ["GET", "HEAD"].includes(c.req.method) && c.req.header("Sec-Fetch-Mode") === "navigate";
    const ours = () => [c.req.raw.url, forwarded.baseUrlOf(c.req.raw, c.env)].map((url) => new URL(url).host);
    const same =
      site === undefined
        ? origin === undefined || ours().includes(URL.parse(origin)?.host ?? "")
        : site === "same-origin" || site === "none";
    if (!same && !(links && follows)) throw new DomainError("forbidden", "Another site sent this request");
    await next();
  });
}
