// A database of every released schema version is opened by today's program and answers as it did.
import { Database as Sqlite } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { openApp } from "../../src/app.ts";
import { verifyBackup } from "../../src/backups/backups.ts";
import { MIGRATION_TABLE, SCHEMA_VERSION } from "../../src/db/migrations/migrate.ts";
import { openTestApp, type TestApp } from "../support/app.ts";
import { databaseFile } from "../support/database.ts";
import { ask } from "./story.ts";

const Recorded = z.object({ token: z.string(), answers: z.record(z.string(), z.looseObject({})) });
const recorded = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith(".db.gz"))
  .map((name) => name.slice(0, -6));

test("the present schema version has a recorded database; `npm run record-schema` writes it", () => {
  expect(recorded).toContain(SCHEMA_VERSION);
});

let podkeep: TestApp;
const remove = async () => {
  await podkeep.app.close();
  rmSync(podkeep.folder, { recursive: true, force: true });
};

/** A test's app on what this schema version left. */
async function openRecorded(version: string): Promise<void> {
  podkeep = await openTestApp();
  await podkeep.app.close();
  const packed = await Bun.file(join(import.meta.dirname, `${version}.db.gz`)).bytes();
  await Bun.write(databaseFile(podkeep.app.config), Bun.gunzipSync(packed));
  await podkeep.open();
}

describe.each(recorded)("a database of %s", (version) => {
  afterEach(remove);

  test("answers as it did, and goes on", async () => {
    await openRecorded(version);
    const { token, answers } = Recorded.parse(await Bun.file(join(import.meta.dirname, `${version}.json`)).json());
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const get = (path: string) => podkeep.send("GET", path, { headers });
    expect(Object.keys(answers).length).toBeGreaterThan(10);
    expect(await ask(get)).toMatchObject(answers);
    const before = (await get("/subscriptions")).body.total;
    const body = JSON.stringify({ subscriptions: [{ feed_url: "https://new.example/rss" }] });
    expect((await podkeep.send("POST", "/subscriptions", { headers, body })).status).toBe(200);
    podkeep.clock.advance(86_400_000);
    await podkeep.drain();
    const { total, subscriptions } = (await get("/subscriptions")).body;
    expect(total).toBe(before + 1);
    expect(subscriptions.at(-1)).toMatchObject({
      feed_url: "https://pending.example/rss?key=s3cret",
      is_subscribed: false,
    });
  });
});

describe("a database that needs a migration", () => {
  afterEach(remove);

  // Today's database, less the note that the last migration was made: making it fails, for its tables are there.
  async function openOutdated(): Promise<void> {
    await openRecorded(SCHEMA_VERSION);
    await podkeep.app.close();
    const sqlite = new Sqlite(databaseFile(podkeep.app.config));
    sqlite.run(`delete from ${MIGRATION_TABLE} where name = ?`, [SCHEMA_VERSION]);
    sqlite.close();
  }

  test("is backed up first, and is as it was where the migration fails", async () => {
    await openOutdated();
    const before = await Bun.file(databaseFile(podkeep.app.config)).bytes();
    await expect(openApp(podkeep.app.config)).rejects.toThrow("could not be migrated");
    const backup = join(podkeep.folder, "backups", `podkeep-before-${SCHEMA_VERSION}.db`);
    expect(verifyBackup(backup).tables).toMatchObject({ users: 2, [MIGRATION_TABLE]: 0 });
    expect(await Bun.file(databaseFile(podkeep.app.config)).bytes()).toEqual(before);
  });

  test("is left alone where no backup can be made", async () => {
    await openOutdated();
    await Bun.write(join(podkeep.folder, "backups"), "in the way");
    await expect(openApp(podkeep.app.config)).rejects.toThrow("No migration without a backup");
  });

  test("is not migrated by a command while a server runs on it", async () => {
    await openRecorded(SCHEMA_VERSION);
    await podkeep.app.close();
    const server = await openApp(podkeep.app.config, { use: "server" });
    await podkeep.sql(`delete from ${MIGRATION_TABLE}`);
    const config = { ...podkeep.app.config, busy_timeout: 50 };
    await expect(openApp(config)).rejects.toThrow("older version is running");
    await server.close();
  });
});
