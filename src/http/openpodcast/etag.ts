// Conditional requests (RFC 9110 section 13): the user's change clock tells whether anything can have changed.
import type { Context } from "hono";
import type { Read, Seen } from "../../services/reads.ts";
import { VERSION } from "../../version.ts";
import type { HttpEnv } from "../env.ts";

/**
 * Answers 304 where the client has the state at the user's clock, else what `read` reads.
 * @param origin the address that links bear, for it is part of the answer
 */
export async function answerUnlessSeen<T, R>(
  c: Context<HttpEnv>,
  origin: string,
  read: (seen: Seen) => Promise<Read<T>>,
  answer: (body: T) => R,
) {
  const known = c.req.header("If-None-Match");
  const url = c.req.url;
  const tail = Bun.hash(`${VERSION} ${c.get("identity").user_id} ${origin} ${url}`).toString(36);
  const etagAt = (clock: number) => `"${clock.toString(36)}-${tail}"`;
  const seen = (clock: number) => known?.includes(etagAt(clock)) ?? false;
  const { clock, body } = await read(seen);
  c.header("ETag", etagAt(clock));
  c.header("Cache-Control", "private, no-cache");
  return body === null || seen(clock) || known?.trim() === "*" ? c.body(null, 304) : answer(body);
}
