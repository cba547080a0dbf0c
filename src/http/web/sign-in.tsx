// Routes of signing in and out.
/** @jsxImportSource hono/jsx */
import type { Context, Hono } from "hono";
import { z } from "zod";
import type { App } from "../../app.ts";
import { appUrlFrom, isLocal } from "../../config/app-url.ts";
import { parseUrl } from "../../domain/url.ts";
import { isRefusal } from "../../errors.ts";
import { findWaitingApp } from "../../services/accounts/login-flow.ts";
import { endPageSession } from "../../services/accounts/sessions.ts";
import { signIn } from "../../services/accounts/sign-in.ts";
import { hasUsers } from "../../services/accounts/users.ts";
import { deleteSessionCookie } from "../cookies.ts";
import type { HttpEnv } from "../env.ts";
import { attemptsOf, type Shared } from "../shared.ts";
import { findSession } from "../sign-in.ts";
import { whyNoPhone } from "./connect-steps.ts";
import { readForm } from "./form.ts";
import { NoUserPage, SignInPage } from "./pages/sign-in.tsx";
import { show } from "./render.tsx";
import { beginSession } from "./session.ts";
import { texts } from "./texts.ts";

const Form = { name: z.string(), password: z.string(), next: z.string().optional() };

export function serveSignIn(http: Hono<HttpEnv>, app: App, shared: Shared): void {
  const { forwarded } = shared;
  /** Where apps connect, why no phone can, and which app waits for its user. */
  const propsOf = async (c: Context<HttpEnv>, path: string | undefined) => {
    const url = appUrlFrom(forwarded.baseUrlOf(c), app.config);
    const next = safePath(path);
    const [, flow] = /^\/allow\/([^/?]+)$/.exec(next) ?? [];
    const waiting = flow ? await findWaitingApp(app, flow) : null;
    return { url, noPhone: whyNoPhone(url, app.config), next, waiting };
  };

  http.get("/", async (c) => {
    if (await findSession(c, app, shared, "page")) return c.redirect("/podcasts", 303);
    if (!(await hasUsers(app))) return show(c, <NoUserPage />);
    return show(c, <SignInPage {...(await propsOf(c, undefined))} />);
  });

  http.get("/sign-in", async (c) => {
    if (!(await hasUsers(app))) return show(c, <NoUserPage />);
    const { next, ended, done } = c.req.query();
    if (done && (await findSession(c, app, shared, "page"))) return c.redirect(safePath(next), 303);
    const base = forwarded.baseUrlOf(c);
    const lost = isByHttp(c.req.header("Referer"), base) ? texts.signIn.needsHttps(base) : texts.signIn.needsCookies;
    const problem = done ? lost : ended ? texts.signIn.ended : null;
    return show(c, <SignInPage {...(await propsOf(c, next))} problem={problem} ended={Boolean(ended && !done)} />);
  });

  http.post("/sign-in", async (c) => {
    const { name, password, next } = await readForm(c, Form);
    if (losesCookie(c.req.header("Origin"), forwarded.baseUrlOf(c))) {
      const problem = texts.signIn.needsHttps(forwarded.baseUrlOf(c));
      return show(c, <SignInPage {...(await propsOf(c, next))} name={name} problem={problem} />, 400);
    }
    const credentials = { name, password, app: texts.history.actors.page };
    const check = () => signIn(app, credentials, attemptsOf(c, shared));
    try {
      const signedIn = await check();
      await beginSession(c, app, shared, signedIn.actor, check);
      c.set("actor", signedIn.actor);
      c.set("userName", signedIn.name);
      // By way of a page that knows whether the browser kept the cookie.
      return c.redirect(`/sign-in?${new URLSearchParams({ next: safePath(next), done: "1" })}`, 303);
    } catch (error) {
      if (!isRefusal(error, "unauthorized", "too_many")) throw error;
      app.metrics?.unauthorized(error.message);
      // For the request log.
      c.error = error;
      const { retry_after } = error.extras;
      if (retry_after !== undefined) c.header("Retry-After", String(retry_after));
      const problem = retry_after === undefined ? texts.signIn.wrong : texts.signIn.wait(error.message, retry_after);
      const page = <SignInPage {...(await propsOf(c, next))} name={name} problem={problem} />;
      return show(c, page, error.code === "too_many" ? 429 : 401);
    }
  });

  http.post("/sign-out", async (c) => {
    const session = await findSession(c, app, shared, "page");
    if (session?.id) await endPageSession(app, session.actor, session.id);
    deleteSessionCookie(c, shared, "page");
    return c.redirect("/", 303);
  });
}

/** Whether a page was opened over http, although podkeep has https. */
const isByHttp = (page: string | undefined, base: string) =>
  base.startsWith("https:") && parseUrl(page ?? "")?.protocol === "http:";

/** Whether every browser would drop a cookie for https: on its own machine only Safari does. */
const losesCookie = (origin: string | undefined, base: string) =>
  origin !== undefined && isByHttp(origin, base) && !isLocal(origin);

/** A path of this server to go to after signing in; anything else, such as another site's URL, is /podcasts. */
function safePath(text: string | undefined): string {
  if (!text || !/^\/[^/\\]/.test(text)) return "/podcasts";
  const url = parseUrl(text, "http://podkeep");
  // The path of "/.//example.org" is "//example.org", which is another site.
  const isOwn = url?.origin === "http://podkeep" && !url.pathname.startsWith("//");
  return isOwn ? url.pathname + url.search : "/podcasts";
}
