// The web page: what people see in a browser.
/** @jsxImportSource hono/jsx */
import type { Context, Hono, MiddlewareHandler } from "hono";
import { secureHeaders } from "hono/secure-headers";
import type { App } from "../../app.ts";
import { DomainError, isRefusal } from "../../errors.ts";
import { free, readBody, readLargeBody } from "../body.ts";
import { refuseCrossSite } from "../cross-site.ts";
import type { HttpEnv } from "../env.ts";
import { type Refusal, respondToErrors } from "../errors.ts";
import { mostActionBytes } from "../limits.ts";
import { OPEN_PAGES, OPEN_PATHS } from "../page-paths.ts";
import type { Shared } from "../shared.ts";
import { requireScope } from "../sign-in.ts";
import { waitForFile, waitInLine } from "../whole-lists.ts";
import { serveAccount } from "./account.tsx";
import { serveAllow } from "./allow.tsx";
import { serveApps } from "./apps.tsx";
import { assets } from "./assets.ts";
import { serveConnect, serveConnectLinks } from "./connect.tsx";
import { serveDocs } from "./docs.tsx";
import { serveFirstSteps } from "./first-steps.tsx";
import { readFields, requireFewFields } from "./form.ts";
import { serveHistory } from "./history.tsx";
import { serveListening } from "./listening.tsx";
import { serveMoveIn } from "./move-in.tsx";
import { requireOwnForm } from "./other-user.tsx";
import { MessagePage } from "./pages/message.tsx";
import { servePodcasts } from "./podcasts.tsx";
import { show } from "./render.tsx";
import { leadToSignIn, openToStrangers, pageOf, requireSession, showMenu } from "./session.ts";
import { serveSignIn } from "./sign-in.tsx";
import { texts } from "./texts.ts";
import { keepTyped } from "./typed.ts";

const SECURITY = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'self'"],
    frameAncestors: ["'none'"],
    baseUri: ["'none'"],
    formAction: ["'self'"],
  },
  xFrameOptions: "DENY",
  referrerPolicy: "same-origin",
  // The proxy in front of podkeep decides about these two.
  strictTransportSecurity: false,
  crossOriginOpenerPolicy: false,
});

/** Bytes. Two of the longest passwords or feed URLs fit; a million fields, which would take a second to read, don't. */
const MOST_FORM = 64 * 1024;
/** Bytes of a form from those who have not signed in: a name and a password. */
const MOST_OPEN_FORM = 16 * 1024;

const FILES = ["/account/podkeep.json", "/listening/plays.csv", "/listening/plays.json"];

/** Limits bodies before they are read, by who sends them. Behind requireSession(). */
function limitBodies(http: Hono<HttpEnv>, app: App): void {
  const { max_body } = app.config;
  const limits = {
    file: readFile((c) => readBody(c, max_body, "file")),
    form: limitForm(Math.min(max_body, MOST_FORM)),
    open: limitForm(Math.min(max_body, MOST_OPEN_FORM)),
  };
  http.post("/podcasts/import", requireScope, limits.file);
  for (const path of ["/account/move-in", "/account/move-in/confirm"]) http.post(path, requireScope, limitLarge(app));
  http.use((c, next) => {
    const isRead = c.req.bodyCache.arrayBuffer !== undefined;
    if (isRead || c.req.method !== "POST") return next();
    return (c.get("actor") ? limits.form : limits.open)(c, next);
  });
}

/** Reads the body for parseBody(). */
async function readFirst(c: Context<HttpEnv>, reading: Promise<Uint8Array>): Promise<void> {
  // Hono keeps promises here, other than its type says.
  c.req.bodyCache.arrayBuffer = reading as unknown as ArrayBuffer;
  await reading;
}

/** Runs before the route if the request has a body. */
const withBody =
  (read: (c: Context<HttpEnv>) => Promise<void>): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    if (c.req.raw.body) await read(c);
    await next();
  };

const limitForm = (max: number) => withBody((c) => readFirst(c, readBody(c, max, "form")));

/** Reads a form with a file, of which parseBody() keeps a copy. */
const readFile = (read: (c: Context<HttpEnv>) => Promise<Uint8Array>) =>
  withBody(async (c) => {
    const form = await read(c).catch(nameOtherWay);
    requireFewFields(c, form);
    await readFirst(c, Promise.resolve(form));
    await readFields(c);
    free(form);
  });

/** Says of a file that is too large how it can be read. */
function nameOtherWay(error: unknown): never {
  if (!isRefusal(error, "too_large")) throw error;
  throw new DomainError("too_large", texts.errors.largeFile(error.message));
}

/** For files of moving in, which may be as large as an upload of episodes. */
const limitLarge = ({ config }: App) =>
  readFile((c) => readLargeBody(c, config.max_body, mostActionBytes(config), "file"));

/** @param document gives the OpenAPI document of the Open Podcast API */
export function serveWeb(http: Hono<HttpEnv>, app: App, shared: Shared, document: () => object): void {
  http.use(SECURITY);
  http.use(addBasePath(shared.forwarded.basePath));
  for (const { path, type, text } of Object.values(assets)) {
    http.get(path, (c) =>
      c.body(text, 200, { "Content-Type": type, "Cache-Control": "public, max-age=31536000, immutable" }),
    );
  }
  http.use(refuseCrossSite(shared, { page: true }));
  for (const path of OPEN_PATHS) http.use(path, openToStrangers);
  http.use(requireSession(app, shared));
  limitBodies(http, app);
  http.use(requireOwnForm(shared));
  http.use((c, next) => {
    if (!c.get("actor") || c.req.method === "POST") return next();
    return (FILES.includes(c.req.path) ? waitForFile : waitInLine)(c, next);
  });
  serveSignIn(http, app, shared);
  for (const path of OPEN_PAGES) http.use(path, showMenu(app, shared));
  serveDocs(http, document);
  serveConnectLinks(http, app, shared);
  serveFirstSteps(http, app, shared);
  servePodcasts(http, app, shared);
  serveListening(http, app);
  serveHistory(http, app);
  serveApps(http, app);
  serveConnect(http, app, shared);
  serveAccount(http, app, shared);
  serveMoveIn(http, app);
  serveAllow(http, app);
  http.notFound((c) => show(c, <MessagePage message={texts.errors.notFound} />, 404));
  respondToErrors(http, app.log, (error, c) => showError(error, c, shared));
}

/** Lets links and redirects begin with the public URL's path. */
function addBasePath(basePath: string): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    c.set("basePath", basePath);
    await next();
    const location = c.res.headers.get("Location");
    if (basePath && location?.startsWith("/")) c.res.headers.set("Location", basePath + location);
  };
}

async function showError({ code, message, extras }: Refusal, c: Context<HttpEnv>, shared: Shared): Promise<Response> {
  // A page would show the user's news to a session that has ended.
  if (code === "unauthorized" && extras.challenge !== "insufficient_scope") return leadToSignIn(c, true);
  const { errors, signIn } = texts;
  const missing = c.req.method === "POST" ? errors.missing : errors.notFound;
  const pages: Record<Refusal["code"], [400 | 403 | 404 | 405 | 410 | 413 | 429 | 500 | 503, string]> = {
    unauthorized: [403, message],
    forbidden: [403, message],
    not_found: [404, missing],
    gone: [410, missing],
    invalid: [400, message],
    method_not_allowed: [405, errors.notFound],
    too_large: [413, message],
    too_many: [429, signIn.wait(message, extras.retry_after ?? 60)],
    unavailable: [503, extras.in_doubt ? errors.inDoubt : errors.unavailable],
    internal: [500, errors.failed],
  };
  const [status, text] = pages[code];
  const form = c.req.method === "POST" && c.get("actor") ? pageOf(c) : undefined;
  // Not every browser brings back what was typed. A body that can't be read has nothing of it.
  if (form) await keepTyped(c, shared, form).catch(() => {});
  return show(c, <MessagePage message={text} form={form} />, status);
}
