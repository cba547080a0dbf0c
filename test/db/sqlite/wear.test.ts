// What is written to the disk, which may be an SD card.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { guidOf, openTestApp, type TestApp } from "../../support/app.ts";
import { databaseFile } from "../../support/database.ts";

let server: TestApp;
beforeEach(async () => {
  server = await openTestApp();
});
afterEach(() => server.close());

test("a large upload writes its pages once, to the log, and nothing to temporary files", async () => {
  const ann = await server.user("ann");
  const add = (from: number) => {
    const subscriptions = Array.from({ length: 1000 }, (_, n) => ({ feed_url: `https://${from + n}.example/` }));
    return ann.request("POST", "/subscriptions", { subscriptions });
  };
  await add(0);
  const log = () => statSync(`${databaseFile(server.app.config)}-wal`).size;
  // The whole process, as Linux counts it.
  const written = () => Number(/^wchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
  const before = [log(), written()] as const;
  expect((await add(1000)).status).toBe(200);
  expect(written() - before[1]).toBeLessThan(1.5 * (log() - before[0]));
});

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
