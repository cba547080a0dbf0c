// The embedded engine: first use, snapshots, group commit, files and other processes.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { guidOf, openTestApp, type TestApp } from "../harness.ts";

let server: TestApp;

beforeEach(async () => {
  server = await openTestApp();
});
afterEach(() => server.close());

test("many requests at once are answered from the first moment on", async () => {
  const user = await server.user();
  await server.reopen();
  const answers = await Promise.all(Array.from({ length: 20 }, () => user.request("GET", "/subscriptions")));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
});
