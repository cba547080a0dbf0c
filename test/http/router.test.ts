// The router against Hono's own, on random routes and requests.
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Result } from "hono/router";
import { TrieRouter } from "hono/router/trie-router";
import { LazyRouter } from "../../src/http/router.ts";

const METHODS = ["GET", "POST", "ALL"];
const part = fc.constantFrom("a", "b", "a.json", ":id", ":other");
const pattern = fc.oneof(
  { weight: 5, arbitrary: fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => `/${parts.join("/")}`) },
  fc.constantFrom("*", "/*", "/a/*", "/b/:id/*", "/"),
);
const path = fc
  .array(fc.constantFrom("a", "b", "a.json", "c", "%20"), { maxLength: 4 })
  .map((parts) => `/${parts.join("/")}`);

/** The handlers of a match with their parameters. */
function readMatch([handlers, stash]: Result<number>): [number, Record<string, string>][] {
  return handlers.map(([handler, params]) => {
    const named = Object.entries(params).map(([name, value]) => [
      name,
      typeof value === "number" ? stash?.[value] : value,
    ]);
    return [handler, Object.fromEntries(named)];
  });
}

test("a path matches what it does in Hono's own router, in the order of the routes", () => {
  const routes = fc.array(fc.tuple(fc.constantFrom(...METHODS), pattern), { maxLength: 8 });
  const requests = fc.array(fc.tuple(fc.constantFrom("GET", "POST", "PUT"), path), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(routes, requests, (added, asked) => {
      const [mine, theirs] = [new LazyRouter<number>(), new TrieRouter<number>()];
      for (const [handler, [method, pattern]] of added.entries()) {
        mine.add(method, pattern, handler);
        theirs.add(method, pattern, handler);
      }
      for (const [method, path] of asked)
        expect(readMatch(mine.match(method, path))).toEqual(readMatch(theirs.match(method, path)));
    }),
    { numRuns: 2_000 },
  );
});
