// The embedded engine's figures and checks of its file.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { copyFileSync, renameSync } from "node:fs";
import { createBackup, newestBackupTime } from "../../../src/backups/backups.ts";
import { createMetricsEndpoint, type MetricsEndpoint } from "../../../src/http/metrics.ts";
import { guidOf, openTestApp, START, type TestApp } from "../../support/app.ts";
import { databaseFile } from "../../support/database.ts";
import { rejectionOf } from "../../support/rejection.ts";

let metrics: MetricsEndpoint;
let server: TestApp;
let file: string;

beforeEach(async () => {
  metrics = createMetricsEndpoint();
  server = await openTestApp({}, { metrics: metrics.metrics });
  file = databaseFile(server.app.config);
});
afterEach(() => server.close());

async function scrape(): Promise<string> {
  return (await metrics.fetch(server.app, new Request("http://127.0.0.1:9042/metrics"))).text();
}

test("the metrics show that the database file was moved away, without old figures, until it is back", async () => {
  expect(await scrape()).toContain("podkeep_users 0");
  renameSync(file, `${file}.old`);
  const text = await scrape();
  expect(text).toContain("podkeep_database_up 0");
  expect(text).not.toContain("podkeep_users");
  renameSync(`${file}.old`, file);
  expect(await scrape()).toContain("podkeep_database_up 1");
});

test("a copy in place of the database file is noticed", async () => {
  copyFileSync(file, `${file}.copy`);
  renameSync(`${file}.copy`, file);
  expect(await rejectionOf(server.app.database.check())).toMatchObject({ code: "unavailable" });
});

test("writes that wait together share a commit", async () => {
  const user = await server.user();
  await Promise.all([1, 2, 3, 4, 5].map((count) => user.add(`https://${count}.example/`, guidOf(count))));
  const shared = (await scrape()).match(/podkeep_commit_transactions_bucket\{le="1"\} (\d+)\n.*le="8"\} (\d+)/s);
  expect(Number(shared?.[1])).toBeLessThan(Number(shared?.[2]));
});

test("the status has the size of the write-ahead log", async () => {
  await server.user();
  expect((await server.app.database.status()).wal_bytes).toBeGreaterThan(0);
});

test("the metrics have the time of the newest backup, and count backups that fail", async () => {
  const { config } = server.app;
  const endpoint = createMetricsEndpoint(() => newestBackupTime(config, server.clock.now()));
  const read = async () => (await endpoint.fetch(server.app, new Request("http://127.0.0.1:9042/metrics"))).text();
  expect(await read()).toContain("podkeep_backup_newest_timestamp_seconds 0\n");
  await createBackup(config, server.clock);
  endpoint.metrics.backupFailed();
  const text = await read();
  expect(text).toContain(`podkeep_backup_newest_timestamp_seconds ${START / 1000}\n`);
  expect(text).toContain("podkeep_backup_failures_total 1\n");
});
