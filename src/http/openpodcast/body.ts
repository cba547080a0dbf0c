// Request bodies: size, type and encoding, checked before the body is parsed.
import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { createMiddleware } from "hono/factory";
import { DomainError } from "../../errors.ts";
import type { HttpEnv } from "../env.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** @param max_body bytes */
export function requireJson(max_body: number): MiddlewareHandler<HttpEnv>[] {
  const limit = bodyLimit({
    maxSize: max_body,
    onError: () => {
      throw new DomainError("too_large", "Request body is too large");
    },
  });
  return [limit, requireJsonType];
}

// A body in another encoding would be stored with replacement characters in its URLs.
const requireJsonType = createMiddleware<HttpEnv>(async (c, next) => {
  const type = c.req.header("Content-Type") ?? "";
  if (!/^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?;?$/i.test(type.trim())) {
    throw new DomainError("invalid", "Wrong Content-Type", { details: ["Content-Type: must be application/json"] });
  }
  // The validator knows only this spelling.
  c.req.raw.headers.set("Content-Type", "application/json");
  try {
    utf8.decode(await c.req.arrayBuffer());
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new DomainError("invalid", "Not UTF-8", { details: ["body: must be UTF-8"] });
  }
  await next();
});
