// The router: Hono's matcher, for each method and first part of a path alone, built at its first request. Hono's own
// router builds those of all routes at once, which took 5 ms of each start.
import { METHOD_NAME_ALL, type Result, type Router } from "hono/router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";

type Route<Handler> = [method: string, path: string, handler: Handler];

export class LazyRouter<Handler> implements Router<Handler> {
  readonly name = "LazyRouter";
  readonly #routes: Route<Handler>[] = [];
  /** Requests whose method or first part no route has share one matcher, so that their number has a limit. */
  readonly #methods = new Set<string>();
  readonly #firsts = new Set<string>();
  readonly #matchers = new Map<string, Router<Handler>>();

  add(method: string, path: string, handler: Handler): void {
    this.#routes.push([method, path, handler]);
    this.#methods.add(method);
    if (isFixed(path)) this.#firsts.add(firstOf(path));
  }

  match(method: string, path: string): Result<Handler> {
    const part = firstOf(path);
    const first = this.#firsts.has(part) ? part : "";
    const known = this.#methods.has(method) ? method : METHOD_NAME_ALL;
    const key = `${known} ${first}`;
    return (this.#matchers.get(key) ?? this.#build(key, known, first)).match(METHOD_NAME_ALL, path);
  }

  #build(key: string, known: string, first: string): Router<Handler> {
    const matcher = new SmartRouter<Handler>({ routers: [new RegExpRouter(), new TrieRouter()] });
    for (const [method, path, handler] of this.#routes) {
      if (method !== METHOD_NAME_ALL && method !== known) continue;
      if (!isFixed(path) || firstOf(path) === first) matcher.add(METHOD_NAME_ALL, path, handler);
    }
    this.#matchers.set(key, matcher);
    return matcher;
  }
}

/** The first part of a path, from its first letter to the next slash. */
function firstOf(path: string): string {
  const end = path.indexOf("/", 1);
  return path.slice(1, end < 0 ? undefined : end);
}

/** Whether only paths with the same first part match a pattern. */
const isFixed = (path: string) => path.startsWith("/") && !/[*:{]/.test(firstOf(path));
