// Bodies that are written while they are read.
import type { Context } from "hono";
import type { HttpEnv } from "./env.ts";

/** Streams text as fast as it is read. */
export function streamText(c: Context<HttpEnv>, parts: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  c.set("body", "stream");
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const part = await parts.next();
      if (part.done) controller.close();
      else controller.enqueue(encoder.encode(part.value));
    },
    async cancel() {
      await parts.return(undefined);
    },
  });
}

/** Responds with a file. */
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
