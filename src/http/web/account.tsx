// Routes of the account: password, sessions, data.
/** @jsxImportSource hono/jsx */
import type { Hono } from "hono";
import { z } from "zod";
import type { App } from "../../app.ts";
import { DomainError } from "../../errors.ts";
import { type ExportedTable, exportAccount } from "../../services/accounts/export.ts";
import { changePassword } from "../../services/accounts/passwords.ts";
import { signOutEverywhere } from "../../services/accounts/sessions.ts";
import { nextTurn } from "../../turns.ts";
import { deleteSessionCookie } from "../cookies.ts";
import type { HttpEnv } from "../env.ts";
import { CHANGE_PASSWORD } from "../page-paths.ts";
import { download } from "../response-body.ts";
import { attemptsOf, type Shared } from "../shared.ts";
import { readForm } from "./form.ts";
import { AccountPage } from "./pages/account.tsx";
import { show } from "./render.tsx";
import { beginSession } from "./session.ts";
import { texts } from "./texts.ts";

const Form = { present: z.string(), changed: z.string() };

export function serveAccount(http: Hono<HttpEnv>, app: App, shared: Shared): void {
  http.get("/account", (c) => {
    const notice = c.req.query("changed") ? texts.account.changedDone : null;
    return show(c, <AccountPage notice={notice} />);
  });

  // The second is where a refused form was, for browsers that open it again.
  for (const path of [CHANGE_PASSWORD, "/account/password"]) http.get(path, (c) => c.redirect("/account", 303));

  http.post("/account/password", async (c) => {
    const typed = await readForm(c, Form);
    const actor = c.get("actor");
    let check: () => Promise<void>;
    try {
      check = await changePassword(app, actor, { name: c.get("userName"), ...typed }, attemptsOf(c, shared));
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      const { code, message, extras } = error;
      if (code === "unauthorized") return show(c, <AccountPage problem={texts.account.wrong} />, 400);
      if (code === "invalid") return show(c, <AccountPage problem={`${message}.`} field="changed" />, 400);
      if (code !== "too_many" || extras.retry_after === undefined) throw error;
      c.header("Retry-After", String(extras.retry_after));
      return show(c, <AccountPage problem={texts.signIn.wait(message, extras.retry_after)} />, 429);
    }
    await beginSession(c, app, shared, actor, check);
    return c.redirect("/account?changed=1", 303);
  });

  http.post("/account/sign-out-everywhere", async (c) => {
    await signOutEverywhere(app, c.get("actor"));
    deleteSessionCookie(c, shared, "page");
    return c.redirect("/", 303);
  });

  http.get("/account/podkeep.json", (c) => {
    const parts = writeExport(c.get("userName"), exportAccount(app, c.get("actor")));
    return download(c, parts, "podkeep.json", "application/json");
  });
}

/** Writes the data as JSON in parts, a row on each line. */
async function* writeExport(user: string, tables: ExportedTable[]): AsyncGenerator<string> {
  let start = `{\n"user": ${JSON.stringify(user)},\n"tables": {`;
  for (const { name, parts } of tables) {
    yield `${start}\n${JSON.stringify(name)}: [`;
    start = "],";
    let comma = "\n";
    for await (const rows of parts) {
      await nextTurn();
      yield comma + rows.map((row) => JSON.stringify(row)).join(",\n");
      comma = ",\n";
    }
  }
  yield "]\n}\n}\n";
}
