// Liveness and readiness endpoints; without a token.
import type { Hono } from "hono";
import type { App } from "../app.ts";
import type { HttpEnv } from "./env.ts";

/** Serves /livez, which never touches the database, and /readyz, which reads from it. */
export function serveHealth(http: Hono<HttpEnv>, app: App): void {
  http.get("/livez", (c) => c.text("ok"));
  http.get("/readyz", async (c) => {
    await app.database.check();
    return c.text("ok");
  });
}
