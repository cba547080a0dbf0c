// Routes of apps: list, revoke, connect.
/** @jsxImportSource hono/jsx */
import type { Context, Hono } from "hono";
import { z } from "zod";
import type { App } from "../../app.ts";
import { appUrlFrom } from "../../config/app-url.ts";
import { printable } from "../../domain/printable.ts";
import { DomainError, isRefusal } from "../../errors.ts";
import { listApps, renameApp, revokeApp } from "../../services/accounts/apps.ts";
import { connectApp, isOpenLink, openConnectLink } from "../../services/accounts/connect-links.ts";
import { endPageSession } from "../../services/accounts/sessions.ts";
import { forgetDevice, renameDevice } from "../../services/devices/devices.ts";
import type { HttpEnv } from "../env.ts";
import { noStore } from "../no-store.ts";
import type { Shared } from "../shared.ts";
import { hasLogin, whyNoPhone } from "./connect-steps.ts";
import { readForm } from "./form.ts";
import { AppsPage, listPath, type OpenRow } from "./pages/apps.tsx";
import { AskDevicePage, ChooseAppPage, ConnectedPage, GuidePage, LoginPage, OpenLinkPage } from "./pages/connect.tsx";
import { show } from "./render.tsx";
import { isByPassword } from "./session.ts";
import { texts } from "./texts.ts";

const Kind = z.enum(Object.keys(texts.connect.apps) as [keyof typeof texts.connect.apps]);
const Done = z.enum(Object.keys(texts.apps.done) as [keyof typeof texts.apps.done]);
const Form = { app: Kind, device: z.string().max(60), nonce: z.string().min(20).max(60) };

export function serveApps(http: Hono<HttpEnv>, app: App, { forwarded }: Shared): void {
  const serverOf = (c: Context<HttpEnv>) => appUrlFrom(forwarded.baseUrlOf(c), app.config);

  http.get("/apps", (c) => {
    const { rename, revoke, device, done } = c.req.query();
    return showApps(c, app, { rename, revoke, device }, Done.safeParse(done).data);
  });

  // Where a refused form was, for browsers that open it again.
  http.get("/apps/devices/:id/rename", (c) =>
    c.redirect(`/apps?${new URLSearchParams({ device: c.req.param("id") })}`, 303),
  );
  http.get("/apps/:id/rename", (c) => c.redirect(`/apps?${new URLSearchParams({ rename: c.req.param("id") })}`, 303));

  http.post("/apps/devices/:id/rename", async (c) => {
    const { caption } = await readForm(c, { caption: z.string() });
    const id = c.req.param("id");
    return orAskAgain(c, app, { device: id, typed: caption }, () => renameDevice(app, c.get("actor"), id, caption));
  });

  http.post("/apps/devices/:id/forget", async (c) => {
    await forgetDevice(app, c.get("actor"), c.req.param("id"));
    return c.redirect("/apps?done=forgotten", 303);
  });

  http.post("/apps/sessions/:id/end", async (c) => {
    if (!isByPassword(c)) throw new DomainError("forbidden", texts.apps.needsPassword);
    const id = c.req.param("id");
    await endPageSession(app, c.get("actor"), id);
    return c.redirect(id === c.get("sessionId") ? "/apps" : "/apps?done=signedOut", 303);
  });

  http.post("/apps/:id/rename", async (c) => {
    const { label } = await readForm(c, { label: z.string() });
    const id = c.req.param("id");
    return orAskAgain(c, app, { rename: id, typed: label }, () => renameApp(app, c.get("actor"), id, label));
  });

  http.post("/apps/:id/revoke", async (c) => {
    await revokeApp(app, c.get("actor"), c.req.param("id"));
    return c.redirect("/apps?done=revoked", 303);
  });

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

async function showApps(c: Context<HttpEnv>, app: App, open: OpenRow, done?: z.infer<typeof Done>): Promise<Response> {
  const lists = await listApps(app, c.get("actor"));
  const notice = done && texts.apps.done[done];
  const page = <AppsPage {...lists} open={open} sessionId={c.get("sessionId")} notice={notice} />;
  return show(c, page, open.problem === undefined ? 200 : 400);
}

/** Renames, and leads to the list. If the name is refused, its row asks again. */
async function orAskAgain(c: Context<HttpEnv>, app: App, open: OpenRow, rename: () => Promise<unknown>) {
  try {
    await rename();
    return c.redirect(listPath(open), 303);
  } catch (error) {
    if (!isRefusal(error, "invalid")) throw error;
    return showApps(c, app, { ...open, problem: `${error.message}.` });
  }
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
