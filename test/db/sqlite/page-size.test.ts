// The size of the file's pages, which each change writes whole.
import { Database as Sqlite } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createBackup } from "../../../src/backups/backups.ts";
import { openTestApp, type TestApp } from "../../support/app.ts";
import { databaseFile } from "../../support/database.ts";
import { readOlderDatabase } from "../../support/older-database.ts";

let podkeep: TestApp;
afterEach(async () => {
  await podkeep.app.close();
  rmSync(podkeep.folder, { recursive: true, force: true });
});

function pageSizeOf(file: string): unknown {
  const sqlite = new Sqlite(file, { readwrite: true });
  try {
    return Object.values(sqlite.query("pragma page_size").get() ?? {})[0];
  } finally {
    sqlite.close();
  }
}

/** Puts a database of an older version, with pages of 4 KB, into the data directory. */
async function placeOlder(version = "0019_episode_titles"): Promise<string> {
  podkeep = await openTestApp();
  await podkeep.app.close();
  const file = databaseFile(podkeep.app.config);
  await Bun.write(file, await readOlderDatabase(version));
  expect(pageSizeOf(file)).toBe(4096);
  return file;
}

test("a new database and its backups have small pages", async () => {
  podkeep = await openTestApp();
  expect(pageSizeOf(databaseFile(podkeep.app.config))).toBe(1024);
  expect(pageSizeOf((await createBackup(podkeep.app.config, podkeep.clock)).file)).toBe(1024);
});

test("a database of an older version gets small pages, and nothing is left beside it", async () => {
  const file = await placeOlder();
  const before = readdirSync(podkeep.folder, { recursive: true }).map(String);
  await podkeep.open();
  expect(await podkeep.sql("pragma page_size")).toEqual([{ page_size: 1024 }]);
  expect(await podkeep.sql("pragma journal_mode")).toEqual([{ journal_mode: "wal" }]);
  expect(await podkeep.sql("pragma integrity_check")).toEqual([{ integrity_check: "ok" }]);
  await podkeep.app.close();
  const added = readdirSync(podkeep.folder, { recursive: true })
    .map(String)
    .filter((name) => !before.includes(name));
  expect(added.filter((name) => !name.includes("backup"))).toEqual([]);
  expect(pageSizeOf(file)).toBe(1024);
});

test("the backup before a migration takes no more room than the database", async () => {
  const file = await placeOlder("0010_sign_ins");
  const url = "'https://a.example/a/path/of/some/length/' || n";
  await podkeep.sql(`insert into episode_actions (user_id, episode, kind, by_url, feed, feed_url, episode_url, guid,
    sent_at, acted_at, arrived_at)
    with recursive n(n) as (select 1 union all select n + 1 from n where n < 3000)
    select id, 'an-episode-of-a-hash-of-characters-' || n, 'play', 'a-hash-of-so-many-characters-' || n, 'a-feed-of-a-hash',
    ${url}, ${url}, ${url}, n, n, n from users, n where name = 'ann'`);
  const { size } = Bun.file(file);
  await podkeep.open();
  const [backup = ""] = readdirSync(podkeep.app.config.backup_dir);
  expect(backup).toStartWith("podkeep-before-");
  expect(Bun.file(join(podkeep.app.config.backup_dir, backup)).size).toBeLessThanOrEqual(size);
});

test("a database that another program has open keeps its pages, and works; its backups have small ones", async () => {
  const file = await placeOlder();
  const other = new Sqlite(file, { readwrite: true });
  other.run("pragma journal_mode = wal");
  expect(other.query("select count(*) as n from users").get()).toEqual({ n: expect.any(Number) });
  try {
    await podkeep.open();
    expect(await podkeep.sql("pragma page_size")).toEqual([{ page_size: 4096 }]);
    expect(await podkeep.sql("pragma journal_mode")).toEqual([{ journal_mode: "wal" }]);
    expect(pageSizeOf((await createBackup(podkeep.app.config, podkeep.clock)).file)).toBe(1024);
  } finally {
    other.close();
  }
});
