// Protocols whose code is loaded at their first request, which keeps idle memory small.
import { type Context, Hono } from "hono";
import type { App } from "../app.ts";
import type { HttpEnv } from "./env.ts";
import { setLength } from "./response-headers.ts";
import { LazyRouter } from "./router.ts";
import type { Shared } from "./shared.ts";

/** Adds a protocol's routes to an empty `http`, and its responses to errors and unknown paths. */
export type Serve = (http: Hono<HttpEnv>, app: App, shared: Shared) => void;

interface LazyProtocol {
  /** Patterns as Hono has them, with alternatives in parentheses. */
  paths: string[];
  handle(c: Context<HttpEnv>): Promise<Response>;
}

/** A protocol with the routes that `load` brings. */
export function createLazily(
  http: Hono<HttpEnv>,
  paths: string[],
  app: App,
  shared: Shared,
  load: () => Promise<Serve>,
): LazyProtocol {
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
  return { paths, handle };
}

/**
 * Mounts protocols; a path of several belongs to the first of them. Not as routes: Hono would build them into a matcher for
 * each method at the first request, which takes longer than the rest of that request.
 */
export function mountLazily(http: Hono<HttpEnv>, protocols: LazyProtocol[]): void {
  const each = protocols.map(({ paths, handle }) => ({ expression: expressionFor(paths), handle }));
  http.use((c, next) => {
    const { path } = c.req;
    return each.find(({ expression }) => expression.test(path))?.handle(c) ?? next();
  });
}

/** @param patterns of Hono, with alternatives in parentheses */
export function expressionFor(patterns: string[]): RegExp {
  const sources = patterns.map((pattern) =>
    pattern.replaceAll(".", "\\.").replace(/:\w+/g, "[^/]+").replace(/\/\*$/, "(/[^]*)?"),
  );
  return new RegExp(`^(${sources.join("|")})$`);
}

class InnerBindings {
  constructor(readonly outer: Context<HttpEnv>) {}

  get address(): string | undefined {
    return this.outer.env.address;
  }

  stayOpen(): void {
    this.outer.env.stayOpen?.();
  }

  awaitResponse(): void {
    this.outer.env.awaitResponse?.();
  }
}

// The request log reads the inner context: its route, actor and error.
function createRoutes(serve: Serve, app: App, shared: Shared, getPath: Hono<HttpEnv>["getPath"]): Hono<HttpEnv> {
  const routes = new Hono<HttpEnv>({ getPath, router: new LazyRouter() });
  routes.use(async (c, next) => {
    const { outer } = c.env;
    c.set("log", app.log);
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
