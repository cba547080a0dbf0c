// Request logging and metrics.
import type { Context, Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { routePath } from "hono/route";
import type { App } from "../app.ts";
import { DomainError } from "../errors.ts";
import { findUserName } from "../services/users.ts";
import type { HttpEnv } from "./env.ts";
import type { Forwarded } from "./forwarded.ts";

/** The path of middleware that runs before all routes. */
const ANY = "/*";
const READS = ["GET", "HEAD", "OPTIONS"];
/** Milliseconds. */
const SLOW = 1000;
const LONGEST_PATH = 200;
/** Parts of texts that may be secrets: tokens, random texts, feed URLs. */
const SECRETS = /podkeep_\w+|[\w-]{26,}|https?(:|%3A).*/gi;
const withoutSecrets = (text: string) => text.replace(SECRETS, "…");
/** Users whose names are kept in memory. */
const MOST_NAMES = 10_000;

/**
 * Counts every request, and logs it by its route's pattern, because paths may hold secrets: at `info` what changed
 * something, failed or was slow, at `debug` all others.
 */
export function logRequests(http: Hono<HttpEnv>, app: App, forwarded: Forwarded): void {
  const { log, metrics } = app;
  const pathOutside = createPathFilter(http);
  const nameOf = createNames(app);
  http.use(async (c, next) => {
    const start = performance.now();
    await next();
    const duration = performance.now() - start;
    const [method, status] = [c.req.method, c.res.status];
    const level = READS.includes(method) && status < 400 && duration < SLOW ? "debug" : "info";
    if (!metrics && !log.isLevelEnabled(level)) return;
    const matched = routePath(c, -1);
    const route = matched === ANY ? null : matched;
    metrics?.served({ method, route, status, seconds: duration / 1000 });
    if (!log.isLevelEnabled(level)) return;
    log[level]({
      method,
      route,
      path: route === null && status === 404 ? pathOutside(c.req.path) : undefined,
      status,
      duration_ms: Math.round(duration * 1000) / 1000,
      reason: refusalOf(c),
      user: await nameOf(c.get("actor")?.user_id, status),
      address: forwarded.addressOf(c.req.raw, c.env.address) || undefined,
      request_id: c.get("requestId"),
    });
  });
}

// Errors of the server are logged in toDomainError. A message may have an id that was sent.
function refusalOf({ error, res }: Context): string | undefined {
  if (res.status >= 500) return;
  if (error instanceof DomainError) return withoutSecrets(error.extras.details?.[0] ?? error.message);
  return error instanceof HTTPException ? error.message : undefined;
}

/** Gives a path that is none of the API's, without what may be a secret. */
function createPathFilter(http: Hono<HttpEnv>): (path: string) => string | undefined {
  let nouns: Set<string | undefined> | undefined;
  const nounOf = (path: string) => path.replace(/^\/v1(?=\/)/, "").split("/")[1];
  return (path) => {
    nouns ??= new Set(http.routes.map((route) => nounOf(route.path)));
    if (nouns.has(nounOf(path))) return;
    return withoutSecrets(path).slice(0, LONGEST_PATH);
  };
}

/** Gives a user's name, or the id if the database can't be asked. */
function createNames(app: App): (user_id: string | undefined, status: number) => Promise<string | undefined> {
  const names = new Map<string, string>();
  return async (user_id, status) => {
    if (user_id === undefined) return;
    const known = names.get(user_id);
    if (known !== undefined) return known;
    if (status >= 500) return user_id;
    const name = await findUserName(app, user_id).catch(() => undefined);
    if (name === undefined) return user_id;
    if (names.size >= MOST_NAMES) names.clear();
    names.set(user_id, name);
    return name;
  };
}
