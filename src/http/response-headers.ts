// Headers that every response has.
import type { Context, MiddlewareHandler } from "hono";
import { discardBody, dropBody, releaseBody } from "./body.ts";
import type { HttpEnv } from "./env.ts";
import { respondWith } from "./response-body.ts";

const REQUEST_ID = /^[\w\-=]{1,255}$/;

/** Gives the request an id, the client's own if it is one, and completes the response's headers. */
export const addHeaders: MiddlewareHandler<HttpEnv> = async (c, next) => {
  const sent = c.req.raw.headers.get("X-Request-Id");
  const id = sent !== null && REQUEST_ID.test(sent) ? sent : crypto.randomUUID();
  c.set("requestId", id);
  if (c.req.raw.method === "DELETE") dropBody(c.req.raw);
  await next();
  releaseBody(c);
  if (c.req.raw.method === "HEAD") await setLength(c);
  if (c.res.status >= 400) await discardBody(c.req.raw, c.res);
  // Not by c.header(), which would build the response a second time.
  const { headers } = c.res;
  // The runtime gives it to responses of all other methods (RFC 9110, section 6.6.1).
  if (c.req.raw.method === "HEAD") headers.set("Date", new Date().toUTCString());
  headers.set("X-Request-Id", id);
  headers.set("X-Content-Type-Options", "nosniff");
  // Browsers keep some responses for good unless they say otherwise, errors such as 410 too.
  if (!headers.has("Cache-Control")) headers.set("Cache-Control", "private, no-cache");
  if (!headers.has("Vary")) headers.set("Vary", "Authorization");
};

/**
 * Gives a response to HEAD the length that GET has (RFC 9110 section 8.6). Each Hono app drops the body, also the apps of
 * protocols that are loaded later, and Bun then says that the length is 0.
 */
export async function setLength(c: Context<HttpEnv>): Promise<void> {
  if (!c.res.body) return;
  let length = 0;
  for await (const part of c.res.body) length += part.length;
  respondWith(c, null);
  c.res.headers.set("Content-Length", String(length));
}
