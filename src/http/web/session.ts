// The page's session: a cookie that only the page takes.
import type { Context, MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import type { App } from "../../app.ts";
import { parseUrl } from "../../domain/url.ts";
import { createSession, endPageSession, type Session } from "../../services/accounts/sessions.ts";
import type { Actor } from "../../services/actor.ts";
import { readSessionCookies, writeSessionCookie } from "../cookies.ts";
import type { HttpEnv } from "../env.ts";
import { noStore } from "../no-store.ts";
import type { Shared } from "../shared.ts";
import { findSession, sessionOf } from "../sign-in.ts";
import { waitInLine } from "../whole-lists.ts";
import { browserName } from "./browser-name.ts";
import { readFrame } from "./frame.ts";
import { keepTyped, takeTyped } from "./typed.ts";

/** Lets strangers open a page. Before requireSession(). */
export const openToStrangers: MiddlewareHandler<HttpEnv> = (c, next) => {
  c.set("isOpen", true);
  return next();
};

/**
 * Sets the actor of a request by its session. A stranger who opens a page that is not open goes to the sign-in page, and
 * back after that; a path without a page needs no session.
 */
export function requireSession(app: App, shared: Shared): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    if (c.get("isOpen")) return next();
    const session = await findSession(c, app, shared, "page");
    if (!session && hasPage(c)) {
      const isForm = c.req.method === "POST";
      if (isForm) await keepTyped(c, shared, pageOf(c));
      return leadToSignIn(c, isForm || readSessionCookies(c, shared, "page").length > 0);
    }
    if (session) keepSession(c, app, shared, session);
    return noStore(c, next);
  };
}

/** Shows the menu on an open page to those who are signed in. */
export function showMenu(app: App, shared: Shared): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const session = await findSession(c, app, shared, "page");
    if (!session) return next();
    keepSession(c, app, shared, session);
    // The menu's page reads the user's latest changes.
    return noStore(c, () => waitInLine(c, next));
  };
}

function keepSession(c: Context<HttpEnv>, app: App, shared: Shared, session: Session): void {
  c.set("checkAgain", () => sessionOf(c, app, shared, "page"));
  c.set("actor", session.actor);
  c.set("userName", session.name);
  c.set("podcasts", session.podcasts);
  c.set("sessionId", session.id);
  c.set("frame", async () => {
    const shown = await readFrame(app, session.actor);
    const rights = { canWrite: canWrite(c), byPassword: isByPassword(c) };
    return { ...shown, ...rights, user: session.name, typed: takeTyped(c, pageOf(c), session.name) };
  });
}

/** Leads to the sign-in page, and back after that. @param ended whether the visitor was signed in */
export function leadToSignIn(c: Context<HttpEnv>, ended: boolean): Response {
  const query = new URLSearchParams({ next: pageOf(c), ...(ended && { ended: "1" }) });
  return c.redirect(`/sign-in?${query}`, 303);
}

/** Whether a route responds to the request, and not only middleware. */
const hasPage = (c: Context) => matchedRoutes(c).some(({ method }) => method !== "ALL");

/** Whether the user signed in with the password: a token may not change how the user signs in. */
export const isByPassword = (c: Context<HttpEnv>) => c.get("actor").id === null;

export const canWrite = (c: Context<HttpEnv>) => c.get("actor").scope === "write";

/** Where the user was: the page that was opened, or the one with the form that was sent or the file. */
export function pageOf(c: Context<HttpEnv>): string {
  const { req } = c;
  const [, section = "", page] = req.path.split("/");
  // After a file, a browser would stay on the sign-in page.
  if (/\.(csv|json|opml)$/.test(req.path)) return `/${section}`;
  if (req.method !== "POST") return req.path + new URL(req.url).search;
  const form = parseUrl(req.header("Referer") ?? "");
  const basePath = c.get("basePath");
  // What begins with two slashes is another site.
  if (form?.pathname.startsWith(`${basePath}/`) && form.pathname[basePath.length + 1] !== "/") {
    return form.pathname.slice(basePath.length) + form.search;
  }
  if (section === "allow") return `/allow/${page}`;
  return section === "sign-out" ? "/podcasts" : `/${section}`;
}

/** Begins a session in this browser, in place of the one it has. @param check as createSession() has it */
export async function beginSession(
  c: Context<HttpEnv>,
  app: App,
  shared: Shared,
  actor: Actor,
  check?: () => Promise<unknown>,
): Promise<void> {
  const old = await findSession(c, app, shared, "page");
  if (old?.id) await endPageSession(app, old.actor, old.id);
  const browser = browserName(c.req.header("User-Agent"));
  writeSessionCookie(c, shared, "page", await createSession(app, actor, "page", { browser, check }));
}
