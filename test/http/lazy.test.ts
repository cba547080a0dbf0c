// Protocols whose code is loaded at their first request.
import { afterEach, expect, test } from "bun:test";
import { Hono } from "hono";
import type { HttpEnv } from "../../src/http/env.ts";
import { createForwarded } from "../../src/http/forwarded.ts";
import { mountLazily, type Serve } from "../../src/http/lazy.ts";
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
  mountLazily(http, ["/lazy"], app, shared, () => loads.shift() ?? Promise.reject(new Error("loaded again")));
  const answers = [];
  for (let n = 0; n < 3; n++) answers.push((await http.request("/lazy", {}, {})).status);
  expect(answers).toEqual([500, 200, 200]);
});
