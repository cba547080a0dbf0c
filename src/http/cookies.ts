// Cookies: their options, and the names, reading and writing of those of sessions.
import type { Context } from "hono";
import { setCookie } from "hono/cookie";
import type { Audience } from "../services/accounts/sessions.ts";
import type { HttpEnv } from "./env.ts";
import type { Shared } from "./shared.ts";

/** Apps look for the name that gpodder.net gives it (Kodi signs in with no other one). */
const APP = "sessionid";
/** The cookie of earlier versions; it is still read. */
const OLD_APP = "podkeep_app";
const PAGE = "podkeep_page";
/** Cookies of one name that are read: a sibling domain can set some, and each costs a query. */
const MOST_OF_NAME = 8;

/**
 * Where browsers support it (https, no path), the page's cookie has a name that no other domain can set
 * (RFC 6265bis section 4.1.3.2). Its port is in it, because browsers send a cookie to all ports of a host.
 */
function nameOf(c: Context<HttpEnv>, { forwarded }: Shared, audience: Audience): string {
  if (audience === "app") return APP;
  const { protocol, port } = new URL(forwarded.baseUrlOf(c));
  return (protocol === "https:" && !forwarded.basePath ? "__Host-" : "") + PAGE + (port && `_${port}`);
}

/** Options of all cookies; they are sent to all of podkeep. */
export const cookieOptions = (c: Context<HttpEnv>, { forwarded }: Shared) => ({
  path: forwarded.basePath || "/",
  httpOnly: true,
  sameSite: "Lax" as const,
  secure: forwarded.baseUrlOf(c).startsWith("https:"),
});

/** The values of the session's cookie, in the order of the header: another domain may have set one with its name. */
export function readSessionCookies(c: Context<HttpEnv>, shared: Shared, audience: Audience): string[] {
  const header = c.req.raw.headers.get("cookie");
  if (header === null) return [];
  const names = [nameOf(c, shared, audience), ...(audience === "app" ? [OLD_APP] : [])];
  const pairs = header.split(";").map((pair) => /^\s*([^=\s]+)="?([^"\s]*)"?\s*$/.exec(pair));
  return names
    .flatMap((name) => pairs.flatMap((pair) => (pair?.[1] === name && pair[2] ? [pair[2]] : [])))
    .slice(0, MOST_OF_NAME);
}

/** @param lifetime milliseconds */
export function writeSessionCookie(
  c: Context<HttpEnv>,
  shared: Shared,
  audience: Audience,
  { text, lifetime }: { text: string; lifetime: number },
): void {
  setCookie(c, nameOf(c, shared, audience), text, { ...cookieOptions(c, shared), maxAge: lifetime / 1000 });
}

/** Has the browser or app forget the session. */
export function deleteSessionCookie(c: Context<HttpEnv>, shared: Shared, audience: Audience): void {
  writeSessionCookie(c, shared, audience, { text: "", lifetime: 0 });
}
