// The HTTP server: middleware that all protocols share, and the protocols.
import { type Context, Hono } from "hono";
import { requestId } from "hono/request-id";
import type { App } from "../app.ts";
import { DomainError } from "../errors.ts";
import type { HttpEnv } from "./env.ts";
import { createForwarded } from "./forwarded.ts";
import { serveHealth } from "./health.ts";
import { mountProtocols } from "./protocols.ts";
import { logRequests } from "./request-log.ts";
import { createThrottle } from "./throttle.ts";

export type Http = Hono<HttpEnv>;

export function createHttp(app: App): Http {
  const http = new Hono<HttpEnv>();
  const shared = {
    forwarded: createForwarded(app.config),
    throttle: createThrottle(app.clock, app.config.failed_logins),
  };
  http.use((c, next) => (c.req.method === "HEAD" ? next().then(() => setLength(c)) : next()));
  http.use(requestId());
  // Not logged, to keep health checks out of the log.
  serveHealth(http, app);
  logRequests(http, app, shared.forwarded);
  http.use(requireHost);
  mountProtocols(http, app, shared);
  return http;
}

// Without a valid Host header the URL has no origin, and Hono has matched another path than was requested. Two Host headers
// arrive joined by a comma; a proxy may have used either.
function requireHost(c: Context<HttpEnv>, next: () => Promise<void>): Promise<void> {
  if (!URL.canParse(c.req.raw.url) || c.req.header("Host")?.includes(","))
    throw new DomainError("invalid", "Bad Host", { details: ["Host: not a host name"] });
  return next();
}

// Hono drops the body of a response to HEAD, and Bun then says that its length is 0 (RFC 9110 section 8.6).
async function setLength(c: Context<HttpEnv>): Promise<void> {
  if (c.res.body) c.header("Content-Length", String((await c.res.clone().arrayBuffer()).byteLength));
}
