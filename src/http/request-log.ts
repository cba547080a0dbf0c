// Request logging and metrics.
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import { matchedRoutes } from "hono/route";
import type { App } from "../app.ts";
import { DomainError } from "../errors.ts";
import { findUserName } from "../services/accounts/users.ts";
import type { HttpEnv } from "./env.ts";
import type { Forwarded } from "./forwarded.ts";

const READS = ["GET", "HEAD", "OPTIONS"];
/** Milliseconds. */
const SLOW = 1000;
const LONGEST_PATH = 200;
/** Characters of a device's id: all of a UUID, not all of a secret that was sent in its place. */
const LONGEST_DEVICE = 40;
/** Parts of texts that are secrets wherever they are: tokens, feed URLs. */
const SECRETS = /podkeep_\w+|https?(:|%3A).*/gi;
/** Texts that may be secrets in a message. In a device's id they may be a UUID. */
const RANDOM = /[\w-]{26,}/g;
const TOO_LONG = new RegExp(`^(.{${LONGEST_DEVICE}}).+`, "s");
/** From here on a path may have a URL, or a name and a password. */
const COLON = /:|%3A/i;
/** A part of a path that is a word, a file's name or a version, which random texts, passwords and hosts hardly are. */
const WORD = /^(v?\d{1,2}|\.?[a-z][a-z_-]{0,19}(\.(php|json|opml|txt|xml|html|js|css|png|ico))?)$/i;
/** Users whose names are kept in memory. */
const MOST_NAMES = 10_000;
/** Milliseconds; users can be renamed. */
const NAMES_KEPT = 60_000;

/**
 * Makes a function that counts a request with its duration in milliseconds, and logs it by its route's pattern, because
 * paths may hold secrets: at `info` what changed something, failed or was slow, at `debug` all others.
 */
export function createRequestLog(app: App, forwarded: Forwarded) {
  const { log, metrics } = app;
  const nameOf = createNames(app);
  return async (c: Context<HttpEnv>, duration: number): Promise<void> => {
    const [method, status] = [c.req.method, c.res.status];
    const level = READS.includes(method) && status < 400 && duration < SLOW ? "debug" : "info";
    if (!metrics && !log.isLevelEnabled(level)) return;
    const inner = c.get("inner") ?? c;
    const error = inner.error ?? c.error;
    const actor = inner.get("actor");
    const leftOut = inner.get("leftOut");
    const { subject } = error instanceof DomainError ? error.extras : {};
    const route = routeOf(inner);
    metrics?.served({ method, route, status, seconds: duration / 1000 });
    if (!log.isLevelEnabled(level)) return;
    log[level]({
      method,
      route,
      path: route === null && status === 404 ? pathWithoutSecrets(c.req.path) : undefined,
      status,
      duration_ms: Math.round(duration * 1000) / 1000,
      left_out: leftOut?.count,
      reason: status < 500 ? (reasonWithoutSecrets(error) ?? leftOut?.reason) : undefined,
      user: inner.get("userName") ?? subject?.name ?? (await nameOf(actor?.user_id ?? subject?.user_id, status)),
      token: actor?.id ?? subject?.token ?? undefined,
      device: actor?.device?.replace(SECRETS, "…").replace(TOO_LONG, "$1…"),
      address: forwarded.addressOf(c) || undefined,
      request_id: c.get("requestId"),
    });
  };
}

/**
 * Why a request was refused; undefined for errors of the server, which toRefusal() logs. A message may have an id that
 * was sent.
 */
export function reasonWithoutSecrets(error: Error | undefined): string | undefined {
  if (error instanceof DomainError)
    return (error.extras.details?.[0] ?? error.message).replace(SECRETS, "…").replace(RANDOM, "…");
  return error instanceof HTTPException ? error.message : undefined;
}

function pathWithoutSecrets(path: string): string {
  const parts = path.split("/");
  const last = parts.findIndex((part) => COLON.test(part));
  return (last < 0 ? parts : parts.slice(0, last + 1))
    .map((part) => (part === "" || WORD.test(part) ? part : "…"))
    .join("/")
    .slice(0, LONGEST_PATH);
}

/** The pattern of the route that responded, without the expressions in it; null if only middleware did. */
const routeOf = (c: Context): string | null =>
  matchedRoutes(c)
    .findLast(({ path }) => !path.endsWith("*"))
    ?.path.replace(/\{.*?\}(?=\/|$)/g, "") ?? null;

/** Gives a user's name, or the number in the database if that can't be asked. */
function createNames(app: App): (user_id: number | undefined, status: number) => Promise<string | undefined> {
  const names = new Map<number, string>();
  let since = 0;
  return async (user_id, status) => {
    if (user_id === undefined) return;
    if (performance.now() - since > NAMES_KEPT) {
      names.clear();
      since = performance.now();
    }
    const known = names.get(user_id);
    if (known !== undefined) return known;
    if (status >= 500) return `#${user_id}`;
    const name = await findUserName(app, user_id).catch(() => undefined);
    if (name === undefined) return `#${user_id}`;
    if (names.size >= MOST_NAMES) names.clear();
    names.set(user_id, name);
    return name;
  };
}
