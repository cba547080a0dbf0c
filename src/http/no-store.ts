// Private responses, which nothing keeps: no cache, no app (OkHttp would ask conditionally), and no browser for its Back
// button after signing out.
import { createMiddleware } from "hono/factory";
import type { HttpEnv } from "./env.ts";

export const noStore = createMiddleware<HttpEnv>(async (c, next) => {
  await next();
  c.res.headers.set("Cache-Control", "no-store");
});
