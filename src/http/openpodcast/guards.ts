// What stands before a handler: the token, and the form of a request's body.
import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { createMiddleware } from "hono/factory";
import type { App } from "../../app.ts";
import { DomainError } from "../../errors.ts";
import { requireToken } from "../auth.ts";
import type { HttpEnv } from "../env.ts";
import { createOrigins, type Origins } from "../forwarded.ts";
import { createThrottle } from "../throttle.ts";

export interface Guards {
  read: MiddlewareHandler<HttpEnv>;
  write: MiddlewareHandler<HttpEnv>;
  body: MiddlewareHandler<HttpEnv>[];
  origins: Origins;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

// A body in another encoding would be kept with replacement characters in its addresses.
const requireJson = createMiddleware<HttpEnv>(async (c, next) => {
  const type = c.req.header("Content-Type") ?? "";
  if (!/^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?;?$/i.test(type.trim())) {
    throw new DomainError("invalid", "Wrong Content-Type", { details: ["Content-Type: must be application/json"] });
  }
  // Letter case and spaces don't matter here, but they do to the validator.
  c.req.raw.headers.set("Content-Type", "application/json");
  try {
    utf8.decode(await c.req.arrayBuffer());
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new DomainError("invalid", "Not UTF-8", { details: ["body: must be UTF-8"] });
  }
  await next();
});

export function createGuards(app: App): Guards {
  const origins = createOrigins(app.config);
  const throttle = createThrottle(app.clock, app.config.failed_logins);
  const limit = bodyLimit({
    maxSize: app.config.max_body,
    onError: () => {
      throw new DomainError("too_large", "Request body is too large");
    },
  });
  return {
    read: requireToken(app, origins, throttle, "read"),
    write: requireToken(app, origins, throttle, "write"),
    body: [limit, requireJson],
    origins,
  };
}
