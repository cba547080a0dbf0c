// Whether the process lives and whether it can serve, for those who watch over it; without a token.
import type { Hono } from "hono";
import type { App } from "../app.ts";
import { DomainError } from "../errors.ts";
import { hasUsers } from "../services/users.ts";
import type { HttpEnv } from "./env.ts";

/** Serves /livez, which never touches the database, and /readyz, which reads from it. */
export function serveHealth(http: Hono<HttpEnv>, app: App): void {
  http.get("/livez", (c) => c.text("ok"));
  http.get("/readyz", async (c) => {
    try {
      await hasUsers(app);
    } catch (cause) {
      throw new DomainError("unavailable", "The database can't be read", { retry_after: 5, cause });
    }
    return c.text("ok");
  });
}
