// Bodies of responses: short texts, and long ones that are written while they are read.
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { messageOf } from "../errors.ts";
import { takeTurns } from "../turns.ts";
import type { HttpEnv } from "./env.ts";

/** Characters of a response that may wait for its client while the user's next one is made. */
export const SHORT = 512 * 1024;
/** Bytes that are sent at a time of others. */
export const PART = 256 * 1024;

/** Streams text as fast as it is read. The client sees that it was cut off if it can't be made to its end. */
export function streamText(c: Context<HttpEnv>, parts: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  c.set("body", "stream");
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const part = await parts.next().catch((error) => {
        logCut(c, error);
        throw error;
      });
      if (part.done) controller.close();
      else controller.enqueue(encoder.encode(part.value));
    },
    async cancel() {
      await parts.return(undefined);
    },
  });
}

// The request log has the status that was sent before.
function logCut(c: Context<HttpEnv>, error: unknown): void {
  if (c.req.raw.signal.aborted) return;
  c.get("log").error({ request_id: c.get("requestId"), reason: messageOf(error) }, "the response was cut off");
}

export const download = (
  c: Context<HttpEnv>,
  parts: AsyncGenerator<string>,
  filename: string,
  type: string,
): Response =>
  c.body(streamText(c, parts), 200, {
    "Content-Type": type,
    "Content-Disposition": `attachment; filename="${filename}"`,
  });

/** Responds with text, whose length is known then: to read it from the response takes as long as a small poll. */
export function sendText(
  c: Context<HttpEnv>,
  text: string,
  type = "application/json",
  status: ContentfulStatusCode = 200,
): Response {
  if (text.length <= SHORT) c.set("body", "short");
  return c.body(text, status, { "Content-Type": type });
}

/** Responds without a body. mygpoclient takes a body for a failure, and AcroVox a response that is not called JSON. */
export const sendNothing = (c: Context<HttpEnv>): Response => sendText(c, "");

/** Responds with text that is made in parts: with a long one while it is made, so that it is never in memory as a whole. */
export async function sendParts(
  c: Context<HttpEnv>,
  parts: Iterator<string>,
  type = "application/json",
): Promise<Response> {
  let start = "";
  for (let part = parts.next(); !part.done; part = parts.next()) {
    start += part.value;
    if (start.length > SHORT) return c.body(streamText(c, inTurns(start, parts)), 200, { "Content-Type": type });
  }
  return sendText(c, start, type);
}

async function* inTurns(start: string, parts: Iterator<string>): AsyncGenerator<string> {
  const giveTurn = takeTurns();
  let text = start;
  for (let part = parts.next(); !part.done; part = parts.next()) {
    if (text.length >= PART) {
      yield text;
      text = "";
      await giveTurn();
    }
    text += part.value;
  }
  yield text;
}

/** Elements that are written at once: two megabytes, if each is the longest feed URL. In smaller parts, most lists take longer. */
export const WRITTEN = 256;

/** Writes a JSON array in parts. */
export function* writeArray(list: readonly unknown[]): Generator<string> {
  yield "[";
  for (let at = 0; at < list.length; at += WRITTEN) {
    const text = JSON.stringify(list.slice(at, at + WRITTEN)).slice(1, -1);
    yield at > 0 ? `,${text}` : text;
  }
  yield "]";
}

export const sendArray = (c: Context<HttpEnv>, list: readonly unknown[]): Response | Promise<Response> =>
  list.length <= WRITTEN ? sendText(c, JSON.stringify(list)) : sendParts(c, writeArray(list));

/** Gives the response another body. */
export function respondWith(c: Context<HttpEnv>, body: ReadableStream | string | null): void {
  const { res } = c;
  // Hono would copy the headers twice.
  c.res = undefined;
  c.res = new Response(body, res);
}
