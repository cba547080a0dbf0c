// Bodies that must be JSON in UTF-8.
import type { Context, MiddlewareHandler } from "hono";
import type { Config } from "../config/settings.ts";
import { DomainError } from "../errors.ts";
import { nextTurn } from "../turns.ts";
import { readBody } from "./body.ts";
import type { HttpEnv } from "./env.ts";
import { mostValues, requireFewValues } from "./limits.ts";

type Limits = Pick<Config, "max_body" | "max_items">;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Bytes of a body whose parsing is noticed by others. */
const LARGE = 1024 * 1024;

/** Reads a body that is JSON, and counts what is in it. Others get a turn before a large one is parsed. */
export async function readJsonBytes(c: Context<HttpEnv>, config: Limits): Promise<Uint8Array> {
  const bytes = await readBody(c, config.max_body);
  requireFewValues(bytes, mostValues(config));
  if (bytes.length > LARGE) await nextTurn();
  return bytes;
}

/**
 * Reads the body for the validator, which parses it. A body in another encoding would be stored with replacement
 * characters in its URLs.
 */
export function requireJson(config: Limits): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const type = c.req.header("Content-Type")?.trim() ?? "";
    const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(type)?.[1] ?? "utf-8";
    if (!/^application\/json\s*(;[^,]*)?$/i.test(type)) throw wrongType("must be application/json");
    if (!/^utf-?8$/i.test(charset)) throw wrongType("its charset must be utf-8");
    // The validator knows only this spelling.
    c.req.raw.headers.set("Content-Type", "application/json");
    const bytes = await readJsonBytes(c, config);
    // Hono keeps promises here, other than its type says.
    c.req.bodyCache.text = Promise.resolve(decode(bytes)) as unknown as string;
    await next();
  };
}

const wrongType = (reason: string) =>
  new DomainError("invalid", "Wrong Content-Type", { details: [`Content-Type: ${reason}`] });

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new DomainError("invalid", "Not UTF-8", { details: ["body: must be UTF-8"] });
  }
}
