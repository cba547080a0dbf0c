// Protocols whose code is loaded at their first request.
import { afterEach, expect, test } from "bun:test";
import { Hono } from "hono";
import type { HttpEnv } from "../../src/http/env.ts";
import { createForwarded } from "../../src/http/forwarded.ts";
import { createLazily, mountLazily, type Serve } from "../../src/http/lazy.ts";
import { createThrottle } from "../../src/http/throttle.ts";
import { openTestApp, type TestApp } from "../support/app.ts";

let server: TestApp;
afterEach(() => server.close());

test("code that could not be loaded, as with too many open files, is loaded at the next request", async () => {
  server = await openTestApp();
  const { app } = server;
  const shared = { forwarded: createForwarded(app.config), throttle: createThrottle(app) };
  const serve: Serve = (routes) => routes.get("/lazy", (c) => c.text("ok"));
  const loads = [Promise.reject(new Error("too many open files")), Promise.resolve(serve)];
  const http = new Hono<HttpEnv>().onError((error, c) => c.text(error.message, 500));
  const load = () => loads.shift() ?? Promise.reject(new Error("loaded again"));
  mountLazily(http, [createLazily(http, ["/lazy"], app, shared, load)]);
  const answers = [];
  for (let n = 0; n < 3; n++) answers.push((await http.request("/lazy", {}, {})).status);
  expect(answers).toEqual([500, 200, 200]);
});

test("a path belongs to the first protocol that has it, and others to the routes after them", async () => {
  server = await openTestApp();
  const { app } = server;
  const shared = { forwarded: createForwarded(app.config), throttle: createThrottle(app) };
  const http = new Hono<HttpEnv>();
  const named = (name: string, paths: string[]) =>
    createLazily(http, paths, app, shared, async () => (routes) => routes.all("*", (c) => c.text(name)));
  mountLazily(http, [
    named("one", ["/one/*", "/lists/:user.(json|txt)"]),
    named("two", ["/", "/one", "/one.two", "/two/:name"]),
  ]);
  http.all("*", (c) => c.text("after"));
  const ownerOf = async (path: string) => (await http.request(path, {}, {})).text();
  const owners = {
    one: ["/one", "/one/", "/one/a/b", "/one/%0A", "/lists/a.b.json"],
    two: ["/", "/one.two", "/two/a"],
    after: ["/ones", "/one-two", "/lists/a/b.json", "/lists/.json", "/lists/a.jsonx", "/two", "/two/a/b", "/a/two/b"],
  };
  for (const [owner, paths] of Object.entries(owners)) {
    for (const path of paths) expect(`${path} ${await ownerOf(path)}`).toBe(`${path} ${owner}`);
  }
});
