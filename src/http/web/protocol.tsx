// The web page: what people see in a browser.
import type { Context, Hono } from "hono";
import { secureHeaders } from "hono/secure-headers";
import type { App } from "../../app.ts";
import type { HttpEnv } from "../env.ts";
import { toDomainError } from "../errors.ts";
import type { Shared } from "../shared.ts";
import { Layout } from "./layout.tsx";
import style from "./style.css" with { type: "text" };
import { texts } from "./texts.ts";

const SECURITY = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'self'"],
    frameAncestors: ["'none'"],
    baseUri: ["'none'"],
    formAction: ["'self'"],
  },
  xFrameOptions: "DENY",
  referrerPolicy: "no-referrer",
  // The proxy in front of podkeep decides about these two.
  strictTransportSecurity: false,
  crossOriginOpenerPolicy: false,
});

export function serveWeb(http: Hono<HttpEnv>, app: App, { forwarded }: Shared): void {
  http.use(SECURITY);
  http.get("/", (c) => c.html(page(<Welcome url={forwarded.baseUrlOf(c.req.raw, c.env)} />)));
  http.get("/assets/style.css", (c) => c.body(style, 200, { "Content-Type": "text/css; charset=utf-8" }));
  http.notFound((c) => showMessage(c, 404, texts.notFound));
  http.onError((error, c) => {
    const { code } = toDomainError(app.log, error, c);
    return showMessage(c, code === "unavailable" ? 503 : 500, texts.failed);
  });
}

const page = (body: unknown) => `<!doctype html>${body}`;

function Welcome({ url }: { url: string }) {
  return (
    <Layout>
      <h1>{texts.name}</h1>
      <p>{texts.tagline}</p>
      <p>
        {texts.appsConnectTo} <code>{url}</code>
      </p>
      <p class="muted">
        {texts.noAccount} <code>{texts.createUser}</code>
      </p>
    </Layout>
  );
}

function showMessage(c: Context<HttpEnv>, status: 404 | 500 | 503, message: string) {
  const body = (
    <Layout title={message}>
      <h1>{message}</h1>
      <p>
        <a href="/">{texts.home}</a>
      </p>
    </Layout>
  );
  return c.html(page(body), status);
}
