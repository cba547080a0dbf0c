// Responses of the web page.
/** @jsxImportSource hono/jsx */
import type { Context } from "hono";
import type { Child } from "hono/jsx";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { withoutBidiControls } from "../../domain/printable.ts";
import type { HttpEnv } from "../env.ts";
import { sendText } from "../response-body.ts";
import { EMPTY, FrameContext } from "./frame.ts";

/** Where an attribute has a path of this server; text has no quotes, because they are escaped. */
const OWN_PATH = / (?:href|src|action)="(?=\/)/g;

export async function show(c: Context<HttpEnv>, page: Child, status: ContentfulStatusCode = 200): Promise<Response> {
  const frame = (await c.get("frame")?.()) ?? EMPTY;
  const html = `<!doctype html>${await (<FrameContext.Provider value={frame}>{page}</FrameContext.Provider>)?.toString()}`;
  const text = withoutBidiControls(html).replace(OWN_PATH, (start) => start + c.get("basePath"));
  return sendText(c, text, "text/html; charset=UTF-8", status);
}
