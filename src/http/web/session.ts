// The page's session: a cookie that only the page takes.
import type { MiddlewareHandler } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import type { App } from "../../app.ts";
import { DomainError } from "../../errors.ts";
import { readSession } from "../../services/sessions.ts";
import type { HttpEnv } from "../env.ts";
import { COOKIES } from "../sign-in.ts";

/** Sets the actor of a request by its session. A page goes to the sign-in page instead, and back after that. */
export function requireSession(app: App): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const text = getCookie(c, COOKIES.page);
    const session = text ? await readSession(app, text, "page").catch(ignoreRefusal) : null;
    if (!session) {
      const query = new URLSearchParams({ next: c.req.method === "GET" ? c.req.path : "/podcasts" });
      if (text) query.set("ended", "1");
      return c.redirect(`/sign-in?${query}`, 303);
    }
    c.set("actor", session.actor);
    c.set("userName", session.name);
    await next();
    return;
  };
}

/** Ends the session in this browser. */
export const clearSession = (c: Parameters<MiddlewareHandler<HttpEnv>>[0]) =>
  setCookie(c, COOKIES.page, "", { path: "/", maxAge: 0, httpOnly: true, sameSite: "Lax" });

function ignoreRefusal(error: unknown): null {
  if (error instanceof DomainError && error.code === "unauthorized") return null;
  throw error;
}
