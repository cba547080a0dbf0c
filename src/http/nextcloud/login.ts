// Nextcloud's login flow v2: an app opens the web page in a browser, and polls until its user has allowed it there.
import type { Context, Hono } from "hono";
import { z } from "zod";
import type { App } from "../../app.ts";
import { parseJson } from "../../json.ts";
import { claimLoginFlow, startLoginFlow } from "../../services/accounts/login-flow.ts";
import { dropBody, readBody } from "../body.ts";
import { refuseCrossSite } from "../cross-site.ts";
import type { HttpEnv } from "../env.ts";
import type { Shared } from "../shared.ts";
import { productOf } from "../user-agent.ts";

/** Where the flow is; Nextcloud serves it with and without index.php. */
const PLACES = ["/index.php/login/v2", "/login/v2"];
/** Bytes; enough for a secret. */
const MOST_BODY = 16 * 1024;

const readText = async (c: Context<HttpEnv>) => new TextDecoder().decode(await readBody(c, MOST_BODY));

export function serveLogin(http: Hono<HttpEnv>, app: App, shared: Shared): void {
  const { forwarded } = shared;
  const noOtherSite = refuseCrossSite(shared, { page: false });

  // No cookies on these two: AntennaPod would send one back with every poll.
  for (const place of PLACES) {
    http.post(place, noOtherSite, async (c) => {
      dropBody(c.req.raw);
      const base = forwarded.baseUrlOf(c);
      const label = productOf(c.req.raw) ?? "Nextcloud app";
      const { page, poll } = await startLoginFlow(app, { label, address: forwarded.addressOf(c) });
      return c.json({
        poll: { token: poll, endpoint: `${base}/index.php/login/v2/poll` },
        login: `${base}/allow/${page}`,
      });
    });

    // Podium sends the token in the query.
    http.post(`${place}/poll`, noOtherSite, async (c) => {
      const claimed = await claimLoginFlow(app, c.req.query("token") ?? readPollToken(await readText(c)));
      if (!claimed) return c.json([], 404);
      // AntennaPod takes `server` as its base URL from here on.
      const server = forwarded.baseUrlOf(c);
      return c.json({ server, loginName: claimed.name, appPassword: claimed.token });
    });
  }
}

const PollBody = z.object({ token: z.string() });

/** The token in a body, as a form (Nextcloud's clients) or as JSON (PinePods); empty if there is none. */
function readPollToken(body: string): string {
  if (!body.trimStart().startsWith("{")) return new URLSearchParams(body).get("token") ?? "";
  return PollBody.safeParse(parseJson(body)).data?.token ?? "";
}
