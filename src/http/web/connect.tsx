// Routes that connect an app: what to type into it, and the link that shows that on the phone.
/** @jsxImportSource hono/jsx */
import type { Context, Hono } from "hono";
import { z } from "zod";
import type { App } from "../../app.ts";
import { appUrlFrom } from "../../config/app-url.ts";
import { printable } from "../../domain/printable.ts";
import { DomainError } from "../../errors.ts";
import { connectApp, isOpenLink, openConnectLink } from "../../services/accounts/connect-links.ts";
import type { HttpEnv } from "../env.ts";
import { noStore } from "../no-store.ts";
import type { Shared } from "../shared.ts";
import { hasLogin, whyNoPhone } from "./connect-steps.ts";
import { readForm } from "./form.ts";
import { AskDevicePage, ChooseAppPage, ConnectedPage, GuidePage, LoginPage, OpenLinkPage } from "./pages/connect.tsx";
import { show } from "./render.tsx";
import { isByPassword } from "./session.ts";
import { texts } from "./texts.ts";

const Kind = z.enum(Object.keys(texts.connect.apps) as [keyof typeof texts.connect.apps]);
const Form = { app: Kind, device: z.string().max(60), nonce: z.string().min(20).max(60) };

export function serveConnect(http: Hono<HttpEnv>, app: App, { forwarded }: Shared): void {
  const serverOf = (c: Context<HttpEnv>) => appUrlFrom(forwarded.baseUrlOf(c), app.config);

  // The list of apps says why a session by token can't.
  http.get("/connect", async (c) => {
    if (!isByPassword(c)) return c.redirect("/apps", 303);
    const server = serverOf(c);
    const noPhone = whyNoPhone(server, app.config);
    const kind = Kind.safeParse(c.req.query("app")).data;
    if (!kind) return show(c, <ChooseAppPage noPhone={noPhone} />);
    if (!hasLogin(kind) || c.req.query("by") === "token") {
      return show(c, <AskDevicePage kind={kind} nonce={app.ids.random(20)} />);
    }
    const link = noPhone || isOnPhone(c) ? null : `${server}/connect/${kind}`;
    return show(c, <LoginPage kind={kind} server={server} link={link} noPhone={noPhone} />);
  });

  // A browser that sends the form again gets the same token, not another one.
  http.post("/connect", async (c) => {
    if (!isByPassword(c)) throw new DomainError("forbidden", texts.apps.needsPassword);
    const { app: kind, device, nonce } = await readForm(c, Form);
    const server = serverOf(c);
    const noPhone = whyNoPhone(server, app.config);
    const label = [texts.connect.apps[kind], printable(device).trim()].filter(Boolean).join(", ");
    const made = await connectApp(app, c.get("actor"), nonce, { label, kind, server, user: c.get("userName") });
    const link = noPhone || isOnPhone(c) ? null : `${server}/connect/${made.secret}`;
    return show(c, <ConnectedPage kind={kind} values={made.values} link={link} noPhone={noPhone} isOwn />);
  });
}

/** Whether the browser runs on a phone, which can't scan its own screen. */
const isOnPhone = (c: Context) => /\b(Android|iPhone|iPad|Mobile)\b/.test(c.req.header("User-Agent") ?? "");

/** The values on the phone that scanned the code: a link that works once, without signing in. GET takes nothing. */
export function serveConnectLinks(http: Hono<HttpEnv>, app: App, { forwarded }: Shared): void {
  http.use("/connect/*", noStore);
  http.get("/connect/:secret", async (c) => {
    const kind = Kind.safeParse(c.req.param("secret")).data;
    if (!kind) return show(c, <OpenLinkPage known={await isOpenLink(app, c.req.param("secret"))} />);
    return show(c, <GuidePage kind={kind} server={appUrlFrom(forwarded.baseUrlOf(c), app.config)} />);
  });
  http.post("/connect/:secret", async (c) => {
    const values = await openConnectLink(app, c.req.param("secret"));
    if (!values) return show(c, <OpenLinkPage known={false} />);
    return show(
      c,
      <ConnectedPage kind={Kind.parse(values.kind)} values={values} link={null} noPhone={null} isOwn={false} />,
    );
  });
}
