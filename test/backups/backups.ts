// What tests of backups do: make, change and restore them, for a server with a user.
import { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { join } from "node:path";
import { createBackup } from "../../src/backups/backups.ts";
import { restoreBackup } from "../../src/backups/restore.ts";
import type { Item } from "../model/answers.ts";
import type { TestApp, TestUser } from "../support/app.ts";

/** @param present gives the server and the user of the running test */
export const backupsOf = (present: () => { podkeep: TestApp; ann: TestUser }) => ({
  backup(file?: string) {
    const { app, clock } = present().podkeep;
    return createBackup(app.config, clock, file);
  },

  inDirectory: (name: string) => join(present().podkeep.folder, name),

  /** Restores while the server is closed, and opens it again. */
  async restore(file: string) {
    const { podkeep } = present();
    await podkeep.app.close();
    try {
      return await restoreBackup(podkeep.app.config, podkeep.clock, file);
    } finally {
      await podkeep.open();
    }
  },

  /** Subscribes to feeds. @returns their guids */
  async add(...feeds: string[]): Promise<string[]> {
    const subscriptions = feeds.map((name) => ({ feed_url: `https://${name}.test/rss` }));
    const { body } = await present().ann.request("POST", "/subscriptions", { subscriptions });
    return body.success.map((item: { guid: string }) => item.guid);
  },

  list: async (since = ""): Promise<Item[]> =>
    (await present().ann.request("GET", `/subscriptions?per_page=500&since=${since}`)).body.subscriptions,
});

/** Who may do what with a file. */
export const mode = (file: string) => statSync(file).mode & 0o777;

/** Runs statements in a file, without foreign keys. */
export function change(file: string, ...statements: string[]): void {
  const sqlite = new Database(file);
  sqlite.run("pragma foreign_keys = off");
  for (const statement of statements) sqlite.run(statement);
  sqlite.close();
}
