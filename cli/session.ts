// One command's work on the data: opens the app, closes it whatever happens.
import { existsSync } from "node:fs";
import type { Command } from "commander";
import { type App, openApp } from "../src/app.ts";
import { databaseFile } from "../src/config.ts";
import { DomainError } from "../src/errors.ts";
import { settingsOf } from "./settings.ts";

/**
 * Runs `work` with the app open. Only a command that may be the first one makes a database where there is none.
 * @throws DomainError "config" where there is no database, or it can't be used
 */
export async function withApp<T>(
  command: Command,
  work: (app: App) => Promise<T>,
  { first = false }: { first?: boolean } = {},
): Promise<T> {
  const { config } = settingsOf(command);
  if (!first && !config.database_url && !existsSync(databaseFile(config))) {
    throw new DomainError(
      "config",
      `There is no database in ${config.data_dir}: name another folder with --data-dir, or begin with user create`,
    );
  }
  const app = await openApp(config);
  try {
    return await work(app);
  } finally {
    await app.close();
  }
}
