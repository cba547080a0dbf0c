// Protocols whose code is loaded at their first request, which keeps idle memory small.
import { type Context, Hono } from "hono";
import type { App } from "../app.ts";
import type { HttpEnv } from "./env.ts";
import { setLength } from "./response-headers.ts";
import type { Shared } from "./shared.ts";

/** Adds a protocol's routes to an empty `http`, and its responses to errors and unknown paths. */
export type Serve = (http: Hono<HttpEnv>, app: App, shared: Shared) => void;

/** Serves `paths` (patterns of Hono) by routes that `load` brings. @returns a handler for other paths of these routes */
export function mountLazily(
  http: Hono<HttpEnv>,
  paths: string[],
  app: App,
  shared: Shared,
  load: () => Promise<Serve>,
): (c: Context<HttpEnv>) => Promise<Response> {
  let routes: Promise<Hono<HttpEnv>> | undefined;
  const create = async () => createRoutes(await load(), app, shared, http.getPath);
  const handle = async (c: Context<HttpEnv>) => {
    // With too many open files the code can't be read now: the next request tries again.
    routes ??= create().catch((error) => {
      routes = undefined;
      throw error;
    });
    return (await routes).fetch(c.req.raw, new InnerBindings(c));
  };
  for (const path of paths) http.all(path, handle);
  return handle;
}

class InnerBindings {
  constructor(readonly outer: Context<HttpEnv>) {}

  get address(): string | undefined {
    return this.outer.env.address;
  }
}

// The request log reads the inner context: its route, actor and error.
function createRoutes(serve: Serve, app: App, shared: Shared, getPath: Hono<HttpEnv>["getPath"]): Hono<HttpEnv> {
  const routes = new Hono<HttpEnv>({ getPath });
  routes.use(async (c, next) => {
    const { outer } = c.env;
    if (outer) {
      c.set("requestId", outer.get("requestId"));
      outer.set("inner", c);
    }
    await next();
    if (c.req.raw.method === "HEAD") await setLength(c);
  });
  serve(routes, app, shared);
  return routes;
}
