// Routes of the list of apps: rename, revoke, forget, sign out.
/** @jsxImportSource hono/jsx */
import type { Context, Hono } from "hono";
import { z } from "zod";
import type { App } from "../../app.ts";
import { DomainError, isRefusal } from "../../errors.ts";
import { listApps, renameApp, revokeApp } from "../../services/accounts/apps.ts";
import { endPageSession } from "../../services/accounts/sessions.ts";
import { forgetDevice, renameDevice } from "../../services/devices/devices.ts";
import type { HttpEnv } from "../env.ts";
import { readForm } from "./form.ts";
import { AppsPage, type OpenRow, renamedPath } from "./pages/apps.tsx";
import { show } from "./render.tsx";
import { isByPassword } from "./session.ts";
import { texts } from "./texts.ts";

const Done = z.enum(Object.keys(texts.apps.done) as [keyof typeof texts.apps.done]);

export function serveApps(http: Hono<HttpEnv>, app: App): void {
  http.get("/apps", (c) => {
    const { rename, revoke, device, renamed, done } = c.req.query();
    return showApps(c, app, { rename, revoke, device, renamed }, Done.safeParse(done).data);
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
    return c.redirect(renamedPath(open), 303);
  } catch (error) {
    if (!isRefusal(error, "invalid")) throw error;
    return showApps(c, app, { ...open, problem: `${error.message}.` });
  }
}
