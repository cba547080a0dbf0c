// Signing in to protocols whose apps send user name and password: Basic (RFC 7617), tokens, session cookies.
import type { Context, MiddlewareHandler } from "hono";
import type { App } from "../app.ts";
import { DomainError, isRefusal, unlessRefused } from "../errors.ts";
import {
  type Audience,
  createSession,
  endAppSession,
  readSession,
  type Session,
} from "../services/accounts/sessions.ts";
import { type SignedIn, signIn, signInByToken } from "../services/accounts/sign-in.ts";
import { requireWrite } from "../services/actor.ts";
import { discardBody } from "./body.ts";
import { deleteSessionCookie, readSessionCookies, writeSessionCookie } from "./cookies.ts";
import type { HttpEnv } from "./env.ts";
import { attemptsOf, type Shared } from "./shared.ts";
import { productOf } from "./user-agent.ts";

/** For every 401: gPodder sends credentials only after it. */
export const BASIC_CHALLENGE = 'Basic realm="podkeep", charset="UTF-8"';

interface SignInOptions {
  /** Whether a session is taken, and begun by Basic: mygpoclient answers only three challenges. */
  sessions: boolean;
}

/**
 * Sets `actor`, `userName`, `passwordHash` and `podcasts`. An Authorization header counts before a cookie.
 *
 * A response has a cookie if the request had credentials and no session of theirs, and once more after nameDevice().
 * @throws DomainError "unauthorized", or "too_many" after too many failures
 */
export function requireSignIn(app: App, shared: Shared, options: SignInOptions): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const check = () =>
      identify(c, app, shared, options).catch((error) => {
        if (isRefusal(error, "unauthorized")) app.metrics?.unauthorized(error.message);
        throw error;
      });
    const { actor, name, podcasts, password_hash, session } = await check();
    c.set("checkAgain", check);
    const device = session?.actor.device ?? null;
    c.set("actor", actor.device === device ? actor : { ...actor, device });
    c.set("userName", name);
    c.set("passwordHash", password_hash);
    c.set("podcasts", podcasts);
    await next();
    if (!options.sessions) return;
    // Before the session is written.
    if (c.res.status >= 400) await discardBody(c.req.raw, c.res);
    if (c.res.status === 401) return;
    if (c.get("endsSession")) {
      if (session) await endAppSession(app, session);
      deleteSessionCookie(c, shared, "app");
    } else if (!session || (device === null && c.get("actor").device !== null)) {
      // What was done before the credential ended is done.
      const begun = await unlessRefused(createSession(app, c.get("actor"), "app", { check }), "unauthorized");
      if (begun) writeSessionCookie(c, shared, "app", begun);
    }
  };
}

/** Refuses credentials that may only read before a body is read; the services refuse them anyway. */
export const requireScope: MiddlewareHandler<HttpEnv> = (c, next) => {
  if (!["GET", "HEAD"].includes(c.req.method)) requireWrite(c.get("actor"));
  return next();
};

/** Names the device of this request, and of those by its session if it had none. */
export function nameDevice(c: Context<HttpEnv>, device: string): void {
  const actor = c.get("actor");
  if (actor.device !== device) c.set("actor", { ...actor, device });
}

/** Has a route behind requireSignIn() end the request's session, if it has one. */
export function endSession(c: Context<HttpEnv>): void {
  c.set("endsSession", true);
}

/** The session in the request's cookie; null if there is none that is good. */
export const findSession = (...of: Parameters<typeof sessionOf>): Promise<Session | null> =>
  unlessRefused(sessionOf(...of), "unauthorized");

/** The first good session in the request's cookies. @throws DomainError "unauthorized" if there are some, and none is good */
export async function sessionOf(
  c: Context<HttpEnv>,
  app: App,
  shared: Shared,
  audience: Audience,
): Promise<Session | null> {
  let refusal: DomainError | null = null;
  for (const text of readSessionCookies(c, shared, audience)) {
    try {
      return await readSession(app, text, audience);
    } catch (error) {
      if (!isRefusal(error, "unauthorized")) throw error;
      refusal ??= error;
    }
  }
  if (refusal) throw refusal;
  return null;
}

async function identify(
  c: Context<HttpEnv>,
  app: App,
  shared: Shared,
  { sessions }: SignInOptions,
): Promise<SignedIn & { session: Session | null }> {
  const header = c.req.header("Authorization");
  if (header === undefined) {
    const session = sessions ? await sessionOf(c, app, shared, "app") : null;
    if (!session) throw new DomainError("unauthorized", "No credentials");
    return { ...session, session };
  }
  const signedIn = await checkHeader(c, app, shared, header);
  const session = sessions ? await findSession(c, app, shared, "app") : null;
  const { user_id, kind, id } = signedIn.actor;
  const same = session?.actor.user_id === user_id && session.actor.kind === kind && session.actor.id === id;
  return { ...signedIn, session: same ? session : null };
}

// Two Authorization headers arrive joined by a comma, which matches neither form.
async function checkHeader(c: Context<HttpEnv>, app: App, shared: Shared, header: string): Promise<SignedIn> {
  const attempts = attemptsOf(c, shared);
  const [, scheme = "", value = ""] = /^(basic|bearer) +([^\s,]+)$/i.exec(header) ?? [];
  if (scheme.toLowerCase() === "bearer") return signInByToken(app, value, attempts);
  const credentials = readBasic(value);
  if (credentials) return signIn(app, { ...credentials, app: productOf(c.req.raw) }, attempts);
  attempts.fail();
  throw new DomainError("unauthorized", "Not one credential that can be read", { challenge: "invalid_request" });
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** User name and password, which may have colons, in either alphabet of Base64; null if they are not readable. */
function readBasic(value: string): { name: string; password: string } | null {
  if (!/^([A-Za-z0-9+/]+|[\w-]+)={0,2}$/.test(value)) return null;
  const text = decode(Buffer.from(value, "base64"));
  const colon = text.indexOf(":");
  return colon < 0 ? null : { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Text in UTF-8, or in Latin-1, which some apps send although the challenge says UTF-8. */
function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    return bytes.toString("latin1");
  }
}
