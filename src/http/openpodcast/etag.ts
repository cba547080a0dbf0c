// Conditional requests (RFC 9110 section 13): the user's clock says whether anything can have changed.
import type { Context, MiddlewareHandler } from "hono";
import { VERSION } from "../../version.ts";
import type { HttpEnv } from "../env.ts";
import type { Forwarded } from "../forwarded.ts";

const QUOTED = /"([^"]*)"/g;
/** What an ETag says besides the clock: marks, each after a dot. */
const MARKS = /\..*$/;
/** What proxies that compress add to an ETag: Apache's modules do, and pass it on in If-None-Match. */
const ENCODING = /-(gzip|br|zstd)$/;

/**
 * Responds 304 if the client has the response of the clock that was read with its token.
 * @param onKnown called before a 304 with the marks of its ETag, if it has any
 */
export function conditional(
  forwarded: Forwarded,
  onKnown?: (c: Context<HttpEnv>, marks: string[]) => Promise<void>,
): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const known = c.req.raw.headers.get("If-None-Match");
    // The base URL is in the links of the response, and so a part of it.
    const base = forwarded.baseUrlOf(c);
    const of = `${VERSION} ${c.get("actor").user_id} ${base} ${c.req.url}`;
    const nameOf = (clock: number, marks: string) =>
      `${clock.toString(36)}-${Bun.hash(of + marks).toString(36)}${marks}`;
    for (const [, sent = ""] of known?.matchAll(QUOTED) ?? []) {
      const name = sent.replace(ENCODING, "");
      const [marks = ""] = MARKS.exec(name) ?? [];
      if (name !== nameOf(c.get("clock"), marks)) continue;
      if (marks) await onKnown?.(c, marks.slice(1).split("."));
      return c.body(null, 304, { ETag: `"${sent}"` });
    }
    await next();
    const body = c.get("etag");
    if (!body) return;
    if (known?.trim() === "*") c.res = c.body(null, 304);
    c.res.headers.set("ETag", `"${nameOf(body.clock, body.marks.map((mark) => `.${mark}`).join(""))}"`);
    return;
  };
}

/**
 * Names the response by the user's clock at which its body was read.
 * @param marks what else its body depends on, and what `conditional` is to know of it: letters, digits, - and _, or nothing
 */
export function setETag(c: Context<HttpEnv>, clock: number, marks: string[] = []): void {
  c.set("etag", { clock, marks });
}
