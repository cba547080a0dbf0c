// Bearer authentication (RFC 6750) as a middleware in front of each route.
import { createMiddleware } from "hono/factory";
import type { App } from "../app.ts";
import { DomainError } from "../errors.ts";
import { authenticate, type Scope } from "../services/tokens.ts";
import type { HttpEnv } from "./env.ts";
import type { Origins } from "./forwarded.ts";
import type { Throttle } from "./throttle.ts";

/** Lets a request pass that bears a token of this scope; write includes read. */
export function requireToken(app: App, origins: Origins, throttle: Throttle, scope: Scope) {
  return createMiddleware<HttpEnv>(async (c, next) => {
    try {
      const identity = await authenticate(app, bearerOf(c.req.raw));
      if (scope === "write" && identity.scope !== "write") {
        throw new DomainError("unauthorized", "The token may only read", { challenge: "insufficient_scope" });
      }
      c.set("identity", identity);
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== "unauthorized") throw error;
      app.metrics?.unauthorized(error.message);
      const wait = throttle.fail(origins.addressOf(c.req.raw, c.env.address));
      if (wait > 0) throw new DomainError("too_many", "Too many failed logins", { retry_after: wait });
      throw error;
    }
    await next();
  });
}

// Two Authorization headers arrive joined by a comma, which no token contains.
function bearerOf(request: Request): string {
  const header = request.headers.get("authorization");
  if (header === null) throw new DomainError("unauthorized", "No credentials");
  const token = /^bearer +([^\s,]+)$/i.exec(header)?.[1];
  if (!token) throw new DomainError("unauthorized", "Not one bearer token", { challenge: "invalid_request" });
  return token;
}
