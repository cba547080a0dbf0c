// Nextcloud's login flow v2: an app opens a page in a browser, and polls until its user has signed in there.
import type { Context, Hono } from "hono";
import { html, raw } from "hono/html";
import { secureHeaders } from "hono/secure-headers";
import { z } from "zod";
import type { App } from "../../app.ts";
import { DomainError } from "../../errors.ts";
import { approveLoginFlow, claimLoginFlow, findLoginFlow, startLoginFlow } from "../../services/login-flow.ts";
import { signIn } from "../../services/sign-in.ts";
import { readBody } from "../body.ts";
import { refuseCrossSite } from "../cross-site.ts";
import type { HttpEnv } from "../env.ts";
import type { Shared } from "../shared.ts";
import { productOf } from "../user-agent.ts";

/** Where the flow is; Nextcloud serves it with and without index.php. */
const PLACES = ["/index.php/login/v2", "/login/v2"];
/** Bytes; enough for a name, a password and a secret. */
const MOST_BODY = 16 * 1024;

const readText = async (request: Request) => new TextDecoder().decode(await readBody(request, MOST_BODY));

const STYLE = `:root { color-scheme: light dark; }
body { margin: 0; font: 1rem / 1.5 system-ui, sans-serif; }
main { max-width: 32rem; margin: 0 auto; padding: 32px 16px; }
input, button { box-sizing: border-box; width: 100%; padding: 12px; font: inherit; }
code { overflow-wrap: anywhere; }
[role="alert"] { font-weight: 600; }`;

const SECURITY = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    styleSrc: [`'sha256-${Bun.SHA256.hash(STYLE, "base64")}'`],
    formAction: ["'self'"],
    frameAncestors: ["'none'"],
    baseUri: ["'none'"],
  },
  xFrameOptions: "DENY",
  // Not "no-referrer": browsers would send the form with `Origin: null`.
  referrerPolicy: "same-origin",
  strictTransportSecurity: false,
  crossOriginOpenerPolicy: false,
});

export function serveLogin(http: Hono<HttpEnv>, app: App, shared: Shared): void {
  const { forwarded, throttle } = shared;
  const addressOf = (c: Context<HttpEnv>) => forwarded.addressOf(c.req.raw, c.env.address);
  const noOtherSite = refuseCrossSite(shared, { links: false });

  // No cookies on these two: AntennaPod would send one back with every poll.
  for (const place of PLACES) {
    http.post(place, noOtherSite, async (c) => {
      const base = forwarded.baseUrlOf(c.req.raw, c.env);
      const label = productOf(c.req.raw) ?? "Nextcloud app";
      const { page, poll } = await startLoginFlow(app, { label, address: addressOf(c) });
      return c.json({
        poll: { token: poll, endpoint: `${base}/index.php/login/v2/poll` },
        login: `${base}/index.php/login/v2/flow/${page}`,
      });
    });

    http.post(`${place}/poll`, noOtherSite, async (c) => {
      const claimed = await claimLoginFlow(app, readPollToken(await readText(c.req.raw)));
      if (!claimed) return c.json([], 404);
      // AntennaPod takes `server` as its base URL from here on.
      const server = forwarded.baseUrlOf(c.req.raw, c.env);
      return c.json({ server, loginName: claimed.name, appPassword: claimed.token });
    });

    // The password is asked for each time, and no cookie signs in here: another site has nothing to ride on.
    const path = `${place}/flow/:page`;
    http.use(path, SECURITY, noStore, refuseCrossSite(shared, { links: true }));
    http.get(path, (c) =>
      showing(c, async () => {
        const label = await findLoginFlow(app, c.req.param("page") ?? "");
        return c.html(formPage({ label, server: forwarded.baseUrlOf(c.req.raw, c.env), name: "", problem: "" }));
      }),
    );
    http.post(path, (c) =>
      showing(c, async () => {
        const page = c.req.param("page") ?? "";
        const label = await findLoginFlow(app, page);
        const form = new URLSearchParams(await readText(c.req.raw));
        const [name, password] = [form.get("name") ?? "", form.get("password") ?? ""];
        try {
          const credentials = { name: name.trim(), password, app: label };
          const { actor } = await signIn(app, credentials, throttle.attemptsFrom(addressOf(c)));
          await approveLoginFlow(app, actor, page);
        } catch (error) {
          const problem = problemOf(error);
          if (!(error instanceof DomainError) || problem === null) throw error;
          if (error.code === "unauthorized") app.metrics?.unauthorized(error.message);
          if (error.extras.retry_after) c.header("Retry-After", String(error.extras.retry_after));
          const server = forwarded.baseUrlOf(c.req.raw, c.env);
          // Not 401, which would open the browser's own dialog.
          return c.html(formPage({ label, server, name, problem }), error.code === "too_many" ? 429 : 403);
        }
        return c.html(messagePage(`${label} is connected`, "You can close this page and return to the app."));
      }),
    );
  }
}

async function noStore(c: Context<HttpEnv>, next: () => Promise<void>): Promise<void> {
  await next();
  c.header("Cache-Control", "no-store");
}

/** Shows a flow that is over as a page. */
async function showing(c: Context<HttpEnv>, work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== "not_found") throw error;
    return c.html(messagePage("This login is over", "It has expired, or was used. Start it again in the app."), 404);
  }
}

/** What to say about an error of signing in; null for errors that are not about it. */
function problemOf(error: unknown): string | null {
  if (!(error instanceof DomainError)) return null;
  const { code, extras } = error;
  if (code === "unauthorized") return "The name or the password is wrong.";
  if (code === "forbidden") return "This is a token. Sign in with your password.";
  if (code === "too_many") return `Too many failed logins. Try again in ${extras.retry_after ?? 60} seconds.`;
  return null;
}

const PollBody = z.object({ token: z.string() });

/** The token, as a form (Nextcloud's clients) or as JSON (PinePods); empty if there is none. */
function readPollToken(body: string): string {
  if (!body.trimStart().startsWith("{")) return new URLSearchParams(body).get("token") ?? "";
  try {
    return PollBody.safeParse(JSON.parse(body)).data?.token ?? "";
  } catch {
    return "";
  }
}

interface Form {
  label: string;
  server: string;
  name: string;
  problem: string;
}

function formPage({ label, server, name, problem }: Form) {
  return frame(
    `Connect ${label}`,
    html`<p>
        <strong>${label}</strong> asks to read and change your podcast subscriptions at <code>${server}</code>.
        Continue only if you have just started this in the app.
      </p>
      ${problem ? html`<p role="alert">${problem}</p>` : ""}
      <form method="post">
        <p>
          <label for="name">User name</label><br />
          <input id="name" name="name" value="${name}" autocomplete="username" autocapitalize="none" required />
        </p>
        <p>
          <label for="password">Password</label><br />
          <input id="password" name="password" type="password" autocomplete="current-password" required />
        </p>
        <p><button type="submit">Allow</button></p>
      </form>`,
  );
}

const messagePage = (title: string, text: string) => frame(title, html`<p>${text}</p>`);

function frame(title: string, body: ReturnType<typeof html>) {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · podkeep</title>
        ${raw(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html> `;
}
