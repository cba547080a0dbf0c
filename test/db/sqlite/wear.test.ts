// What is written to the disk, which may be an SD card.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { guidOf, openTestApp, type TestApp } from "../../support/app.ts";
import { databaseFile } from "../../support/database.ts";

let server: TestApp;
beforeEach(async () => {
  server = await openTestApp();
});
afterEach(() => server.close());

test("uploads that change nothing write nothing", async () => {
  const ann = await server.user("ann");
  const feed = "https://a.example/";
  const nextcloud = "/index.php/apps/gpoddersync/subscription_change/create";
  const send = async () => {
    await ann.add(feed, guidOf(1));
    await ann.request("PATCH", `/subscriptions/${guidOf(1)}`, { is_subscribed: true });
    return ann.request("POST", nextcloud, { add: [feed], remove: [] });
  };
  await send();
  // The time at which the token was used is noted after a response.
  await server.app.database.write(async () => {});
  const before = readFileSync(`${databaseFile(server.app.config)}-wal`);
  expect((await send()).status).toBe(200);
  const after = readFileSync(`${databaseFile(server.app.config)}-wal`);
  expect(after.equals(before)).toBe(true);
});
