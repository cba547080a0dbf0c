// Bodies that must be JSON in UTF-8.
import type { MiddlewareHandler } from "hono";
import type { Config } from "../config/settings.ts";
import { DomainError } from "../errors.ts";
import { readBody } from "./body.ts";
import type { HttpEnv } from "./env.ts";
import { requireFewValues } from "./limits.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads the body for the validator, which parses it. A body in another encoding would be stored with replacement
 * characters in its URLs.
 */
export function requireJson(config: Pick<Config, "max_body" | "max_items">): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const type = c.req.header("Content-Type") ?? "";
    if (!/^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?;?$/i.test(type.trim())) {
      throw new DomainError("invalid", "Wrong Content-Type", { details: ["Content-Type: must be application/json"] });
    }
    // The validator knows only this spelling.
    c.req.raw.headers.set("Content-Type", "application/json");
    const bytes = await readBody(c, config.max_body);
    requireFewValues(bytes, config);
    // Hono keeps promises here, other than its type says.
    c.req.bodyCache.text = Promise.resolve(decode(bytes)) as unknown as string;
    await next();
  };
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new DomainError("invalid", "Not UTF-8", { details: ["body: must be UTF-8"] });
  }
}
