// Routes of links that let people in: the first user, and users who choose a password.
/** @jsxImportSource hono/jsx */
import type { Context, Hono } from "hono";
import { z } from "zod";
import type { App } from "../../app.ts";
import { readNewName } from "../../domain/user-name.ts";
import { isRefusal } from "../../errors.ts";
import { findPasswordLink, usePasswordLink } from "../../services/accounts/password-links.ts";
import { requireSetupCode, setUp } from "../../services/accounts/setup.ts";
import type { HttpEnv } from "../env.ts";
import { noStore } from "../no-store.ts";
import { attemptsOf, type Shared } from "../shared.ts";
import { readForm } from "./form.ts";
import { PasswordPage, SetupPage } from "./pages/first-steps.tsx";
import { MessagePage } from "./pages/message.tsx";
import { show } from "./render.tsx";
import { beginSession } from "./session.ts";
import { texts } from "./texts.ts";

const SetupForm = { name: z.string(), password: z.string() };

export function serveFirstSteps(http: Hono<HttpEnv>, app: App, shared: Shared): void {
  for (const path of ["/setup/:code", "/password/:secret"]) http.use(path, noStore);

  http.get("/setup/:code", (c) =>
    unlessGone(c, texts.setup.over, async () => {
      await requireSetupCode(app, c.req.param("code"), attemptsOf(c, shared));
      return show(c, <SetupPage />);
    }),
  );

  http.post("/setup/:code", (c) =>
    unlessGone(c, texts.setup.over, async () => {
      const form = await readForm(c, SetupForm);
      const typed = { ...form, name: form.name.trim() };
      try {
        const actor = await setUp(app, c.req.param("code"), typed, attemptsOf(c, shared));
        await beginSession(c, app, shared, actor);
        return c.redirect("/connect?new=1", 303);
      } catch (error) {
        if (!isRefusal(error, "invalid")) throw error;
        const field = readNewName(typed.name) ? "password" : "name";
        return show(c, <SetupPage name={typed.name} problem={`${error.message}.`} field={field} />, 400);
      }
    }),
  );

  http.get("/password/:secret", (c) =>
    unlessGone(c, texts.choosePassword.over, async () =>
      show(c, <PasswordPage link={await findPasswordLink(app, c.req.param("secret"))} />),
    ),
  );

  http.post("/password/:secret", (c) =>
    unlessGone(c, texts.choosePassword.over, async () => {
      const secret = c.req.param("secret");
      const { password } = await readForm(c, { password: z.string() });
      try {
        const { actor, isFirst, check } = await usePasswordLink(app, secret, password);
        await beginSession(c, app, shared, actor, check);
        return c.redirect(isFirst ? "/connect?new=1" : "/podcasts", 303);
      } catch (error) {
        if (!isRefusal(error, "invalid")) throw error;
        return show(c, <PasswordPage link={await findPasswordLink(app, secret)} problem={`${error.message}.`} />, 400);
      }
    }),
  );
}

/** Shows a link that is over, or that never was, as a page. */
async function unlessGone(c: Context<HttpEnv>, over: string, work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (!isRefusal(error, "gone")) throw error;
    // For the request log.
    c.error = error;
    return show(c, <MessagePage message={over} />, 410);
  }
}
