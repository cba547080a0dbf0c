// Routes of apps: list, revoke, connect.
/** @jsxImportSource hono/jsx */
import type { Context, Hono } from "hono";
import { z } from "zod";
import type { App } from "../../app.ts";
import { DomainError } from "../../errors.ts";
import { listApps, revokeApp } from "../../services/apps.ts";
import { forgetDevice, renameDevice } from "../../services/devices.ts";
import { issueToken } from "../../services/tokens.ts";
import type { HttpEnv } from "../env.ts";
import type { Shared } from "../shared.ts";
import { readForm } from "./form.ts";
import { createOneTimeLinks, type OneTimeLinks } from "./one-time-links.ts";
import { AppsPage, ConnectedPage, ConnectPage, type ConnectValues, OpenLinkPage, RevokePage } from "./pages/apps.tsx";
import { show } from "./render.ts";
import { texts } from "./texts.ts";

const kinds = Object.keys(texts.connect.apps) as [keyof typeof texts.connect.apps];
const Form = { app: z.enum(kinds), device: z.string().max(60), nonce: z.string().max(60) };

const byPassword = (c: Context<HttpEnv>) => c.get("actor").kind === "session";
const canWrite = (c: Context<HttpEnv>) => c.get("actor").scope === "write";

export function serveApps(
  http: Hono<HttpEnv>,
  app: App,
  { forwarded }: Shared,
  links: OneTimeLinks<ConnectValues>,
): void {
  http.get("/apps", async (c) =>
    show(c, <AppsPage {...(await listApps(app, c.get("actor")))} canChange={byPassword(c)} canWrite={canWrite(c)} />),
  );

  http.post("/apps/devices/:id/rename", async (c) => {
    const { caption } = await readForm(c, { caption: z.string() });
    await renameDevice(app, c.get("actor"), c.req.param("id"), caption);
    return c.redirect("/apps", 303);
  });

  http.post("/apps/devices/:id/forget", async (c) => {
    await forgetDevice(app, c.get("actor"), c.req.param("id"));
    return c.redirect("/apps", 303);
  });

  http.get("/apps/:id/revoke", async (c) => {
    const found = (await listApps(app, c.get("actor"))).apps.find(({ id }) => id === c.req.param("id"));
    if (!found) throw new DomainError("not_found", "There is no such app");
    return show(c, <RevokePage app={found} />);
  });

  http.post("/apps/:id/revoke", async (c) => {
    await revokeApp(app, c.get("actor"), c.req.param("id"));
    return c.redirect("/apps", 303);
  });

  http.get("/connect", (c) => {
    if (!byPassword(c)) throw new DomainError("forbidden", texts.apps.needsPassword);
    return show(c, <ConnectPage nonce={app.ids.random(20)} />);
  });

  // A browser that sends the form again gets the same token, not another one.
  const issued = createOneTimeLinks<Promise<ConnectValues>>(app.clock);

  http.post("/connect", async (c) => {
    if (!byPassword(c)) throw new DomainError("forbidden", texts.apps.needsPassword);
    const actor = c.get("actor");
    const { app: kind, device, nonce } = await readForm(c, Form);
    const server = forwarded.baseUrlOf(c.req.raw, c.env);
    const label = [texts.connect.apps[kind], device.trim()].filter(Boolean).join(", ");
    const key = `${actor.user_id} ${nonce}`;
    const issue = async (): Promise<ConnectValues> => {
      const { token } = await issueToken(app, actor, { label, scope: "write", expires_at: null });
      return { kind, server, user: c.get("userName"), token };
    };
    const values = issued.get(key) ?? issue();
    issued.put(key, values);
    const made = await values.catch((error) => {
      issued.take(key);
      throw error;
    });
    const secret = app.ids.random(32);
    links.put(secret, made);
    return show(c, <ConnectedPage values={made} link={`${server}/connect/${secret}`} />);
  });
}

/** The values on the phone that scanned the code: a link that works once, without signing in. GET takes nothing. */
export function serveConnectLinks(http: Hono<HttpEnv>, links: OneTimeLinks<ConnectValues>): void {
  http.get("/connect/:secret", (c) => show(c, <OpenLinkPage known={links.get(c.req.param("secret")) !== undefined} />));
  http.post("/connect/:secret", (c) => {
    const values = links.take(c.req.param("secret"));
    return show(c, values ? <ConnectedPage values={values} link={null} /> : <OpenLinkPage known={false} />);
  });
}
