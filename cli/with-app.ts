// One command's work on the data: opens the app, closes it whatever happens.
import { statSync } from "node:fs";
import { dirname } from "node:path";
import type { Command } from "commander";
import { type App, openApp } from "../src/app.ts";
import { DomainError, messageOf } from "../src/errors.ts";
import { settingsOf } from "./flags.ts";

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
  if (!first && "file" in config.location) requireData(config.location.file);
  const app = await openApp(config);
  try {
    return await work(app);
  } finally {
    await app.close();
  }
}

function requireData(file: string): void {
  let bytes: number | undefined;
  try {
    bytes = statSync(file, { throwIfNoEntry: false })?.size;
  } catch (error) {
    throw new DomainError("config", `The data folder can't be used: ${messageOf(error)}`, { cause: error });
  }
  if (bytes) return;
  throw new DomainError(
    "config",
    `There is no database in ${dirname(file)}: name another folder with --data-dir, or begin with user create`,
  );
}
