// Forms of a page that was opened by who was signed in before in this browser.
/** @jsxImportSource hono/jsx */
import type { MiddlewareHandler } from "hono";
import type { HttpEnv } from "../env.ts";
import type { Shared } from "../shared.ts";
import { readFields } from "./form.ts";
import { OtherUserPage } from "./pages/message.tsx";
import { show } from "./render.tsx";
import { pageOf } from "./session.ts";
import { keepTyped } from "./typed.ts";

/** Refuses a form that another user's page sends: it would act for who has signed in since, in another tab. */
export function requireOwnForm(shared: Shared): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    if (!c.get("actor") || c.req.method !== "POST") return next();
    const { user } = await readFields(c);
    const now = c.get("userName");
    if (typeof user !== "string" || user === now) return next();
    const page = pageOf(c);
    await keepTyped(c, shared, page);
    return show(c, <OtherUserPage was={user} now={now} page={page} />, 409);
  };
}
