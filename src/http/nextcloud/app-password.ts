// Nextcloud's routes of app passwords: an app that was given the password gets a token for it, and revokes it.
import type { Context, Hono } from "hono";
import { createMiddleware } from "hono/factory";
import type { App } from "../../app.ts";
import { DomainError } from "../../errors.ts";
import { issueAppToken, revokeToken } from "../../services/accounts/tokens.ts";
import { refuseCrossSite } from "../cross-site.ts";
import type { HttpEnv } from "../env.ts";
import type { Shared } from "../shared.ts";
import { requireSignIn } from "../sign-in.ts";
import { productOf } from "../user-agent.ts";

/** Nextcloud wants this header too: a page of another site can't send it, and GET makes a token here. */
const requireApiRequest = createMiddleware<HttpEnv>(async (c, next) => {
  if (c.req.header("OCS-APIRequest") !== "true") {
    throw new DomainError("forbidden", "The request needs the header OCS-APIRequest: true");
  }
  await next();
});

export function serveAppPassword(http: Hono<HttpEnv>, app: App, shared: Shared): void {
  for (const place of ["/index.php/ocs/v2.php/core", "/ocs/v2.php/core"]) {
    const signIn = requireSignIn(app, shared, { sessions: false });
    http.use(`${place}/*`, refuseCrossSite(shared, { page: false }), signIn, requireApiRequest);

    // 403 says that the app has a token already (GNOME Podcasts).
    http.get(`${place}/getapppassword`, async (c) => {
      // The response has no body, and so no token.
      if (c.req.raw.method === "HEAD") return c.body(null);
      const by = { name: productOf(c.req.raw) ?? "Nextcloud app", password_hash: c.get("passwordHash") };
      return respond(c, { apppassword: await issueAppToken(app, c.get("actor"), by) });
    });

    http.delete(`${place}/apppassword`, async (c) => {
      const { kind, id } = c.get("actor");
      if (kind !== "token" || id === null) throw new DomainError("forbidden", "Only a token can be revoked here");
      await revokeToken(app, id);
      return respond(c, {});
    });
  }
}

/** Responds as Nextcloud's OCS does: XML, or JSON if the request asks for it. */
function respond(c: Context<HttpEnv>, data: Record<string, string>): Response {
  const meta = { status: "ok", statuscode: 200, message: "OK" };
  if (c.req.query("format") === "json" || c.req.header("Accept")?.includes("application/json")) {
    return c.json({ ocs: { meta, data } });
  }
  // No value here has a character that XML escapes.
  const write = (values: Record<string, string | number>) =>
    Object.entries(values)
      .map(([name, value]) => `<${name}>${value}</${name}>`)
      .join("");
  const body = `<?xml version="1.0"?>\n<ocs><meta>${write(meta)}</meta><data>${write(data)}</data></ocs>\n`;
  return c.body(body, 200, { "Content-Type": "application/xml; charset=utf-8" });
}
