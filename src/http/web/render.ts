// Responses of the web page.
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { HttpEnv } from "../env.ts";

type Page = { toString(): string | Promise<string> } | null;

/** Responds with a page. */
export async function show(c: Context<HttpEnv>, page: Page, status: ContentfulStatusCode = 200): Promise<Response> {
  return c.html(`<!doctype html>${await page?.toString()}`, status);
}

/** A path of this server to go to after signing in; anything else, such as another site's URL, is /podcasts. */
export function safePath(text: string | undefined): string {
  if (!text || !/^\/[^/\\]/.test(text)) return "/podcasts";
  const url = URL.parse(text, "http://podkeep");
  return url?.origin === "http://podkeep" ? url.pathname + url.search : "/podcasts";
}
