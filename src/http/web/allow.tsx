// Routes on which a user allows an app that started a login flow.
/** @jsxImportSource hono/jsx */
import type { Context, Hono } from "hono";
import type { App } from "../../app.ts";
import { isRefusal } from "../../errors.ts";
import { approveLoginFlow, denyLoginFlow, findLoginFlow, type WaitingApp } from "../../services/accounts/login-flow.ts";
import type { HttpEnv } from "../env.ts";
import { AllowPage } from "./pages/allow.tsx";
import { MessagePage } from "./pages/message.tsx";
import { show } from "./render.tsx";
import { texts } from "./texts.ts";

export function serveAllow(http: Hono<HttpEnv>, app: App): void {
  const text = texts.allow;

  http.get("/allow/:page", (c) =>
    withFlow(c, app, async (waiting) => {
      if (waiting.approved) return show(c, <MessagePage message={text.done(waiting.label)} />);
      return show(c, <AllowPage app={waiting} path={c.req.path} />);
    }),
  );

  http.post("/allow/:page", (c) =>
    withFlow(c, app, async () => {
      await approveLoginFlow(app, c.get("actor"), c.req.param("page"));
      return c.redirect(c.req.path, 303);
    }),
  );

  http.post("/allow/:page/deny", (c) =>
    withFlow(c, app, async ({ label }) => {
      await denyLoginFlow(app, c.get("actor"), c.req.param("page"));
      return show(c, <MessagePage message={text.denied(label)} />);
    }),
  );
}

/** Shows a flow that is over as a page. */
async function withFlow(
  c: Context<HttpEnv>,
  app: App,
  work: (waiting: WaitingApp) => Promise<Response>,
): Promise<Response> {
  try {
    return await work(await findLoginFlow(app, c.get("actor"), c.req.param("page") ?? ""));
  } catch (error) {
    if (!isRefusal(error, "not_found")) throw error;
    return show(c, <MessagePage message={texts.allow.over} />, 404);
  }
}
