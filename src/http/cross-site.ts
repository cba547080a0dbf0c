// Requests that a browser sends for another site's page: refused, because it may add the user's credentials.
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { parseUrl } from "../domain/url.ts";
import { DomainError } from "../errors.ts";
import type { HttpEnv } from "./env.ts";
import type { Shared } from "./shared.ts";

/**
 * Refuses requests of other sites, and those of browsers for a host that is not the public URL's: its name can lead here
 * although it is a stranger's (DNS rebinding).
 *
 * Browsers name themselves "Mozilla/", and the page's site by Sec-Fetch-Site or Origin. Apps that are built from web
 * pages send an Origin too, such as tauri://localhost, but no browser's name.
 * @param page true for the page: it is for browsers only, and people may follow links to it from other sites
 */
export function refuseCrossSite({ forwarded }: Shared, { page }: { page: boolean }) {
  return createMiddleware<HttpEnv>((c, next) => {
    const other = page || isBrowser(c) ? forwarded.otherUrlOf(c) : null;
    if (other) throw new DomainError("forbidden", `This host name is not podkeep's: open ${other}${proxyHint(c)}`);
    const site = c.req.header("Sec-Fetch-Site");
    const isOurs = site === undefined ? isOurOrigin(c, forwarded, page) : ["same-origin", "none"].includes(site);
    const follows = ["GET", "HEAD"].includes(c.req.method) && c.req.header("Sec-Fetch-Mode") === "navigate";
    if (!isOurs && !(page && follows)) {
      const hint = site === undefined ? hintFor(c, forwarded) : "";
      throw new DomainError("forbidden", `Another site sent this request. Nothing was changed.${hint}`);
    }
    return next();
  });
}

/** For who has opened that: Apache sends the name of its backend, and the public one in X-Forwarded-Host. */
const proxyHint = (c: Context<HttpEnv>) =>
  c.req.header("X-Forwarded-Host") === undefined ? "" : `. If that is open, ${changedHost(c)} the one that it got`;

const changedHost = ({ req }: Context<HttpEnv>) =>
  `the proxy changed the Host header to ${new URL(req.url).host}: let it pass on`;

/** What else makes podkeep's own page look like another site's: a proxy that changes the Host header, or http. */
function hintFor(c: Context<HttpEnv>, forwarded: Shared["forwarded"]): string {
  const sent = parseUrl(c.req.header("Origin") ?? "");
  if (!sent || !/^https?:$/.test(sent.protocol)) return "";
  const base = forwarded.baseUrlOf(c);
  if (sent.host === new URL(base).host) return ` If it was podkeep's own page: open ${base}`;
  return ` If it was podkeep's own page, ${changedHost(c)} that of ${sent.origin}`;
}

const isBrowser = ({ req }: Context<HttpEnv>) =>
  /^Mozilla\//i.test(req.header("User-Agent") ?? "") || req.header("Sec-Fetch-Site") !== undefined;

function isOurOrigin(c: Context<HttpEnv>, forwarded: Shared["forwarded"], page: boolean): boolean {
  const origin = c.req.header("Origin");
  if (origin === undefined) return true;
  const sent = parseUrl(origin);
  const base = new URL(forwarded.baseUrlOf(c));
  const own = new URL(c.req.raw.url);
  // Behind a proxy with TLS the request's own URL has http.
  const ours = base.host === own.host ? [base] : [base, own];
  if (sent && ours.some(({ host, protocol }) => host === sent.host && ["https:", protocol].includes(sent.protocol))) {
    return true;
  }
  if (page || isBrowser(c)) return false;
  if (!sent) return origin === "null";
  return !/^https?:$/.test(sent.protocol) || /^(.+\.)?localhost$/.test(sent.hostname);
}
