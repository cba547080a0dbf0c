// The app, opened for one command.
import { statSync } from "node:fs";
import { dirname } from "node:path";
import type { Command } from "commander";
import { type App, openApp, refuseLostData } from "../src/app.ts";
import { DomainError } from "../src/errors.ts";
import { type Admin, actAsAdmin } from "../src/services/actor.ts";
import { settingsOf } from "./flags.ts";

/**
 * Runs `work` with the app open, then closes it.
 * @param first whether to create the database if there is none
 * @throws DomainError "config" if there is no database, or it is lost; "unavailable" if it can't be used
 */
export async function withApp<T>(
  command: Command,
  work: (app: App) => Promise<T>,
  { first = false }: { first?: boolean } = {},
): Promise<T> {
  const { config } = settingsOf(command);
  await refuseLostData(config);
  if (!first && "file" in config.location) requireData(config.location.file);
  // That servers of an older version run is only known of a file.
  const isShared = "url" in config.location && config.migrate === "start";
  const app = await openApp(config, isShared ? { migrate: "empty" } : {});
  try {
    return await work(app);
  } finally {
    await app.close();
  }
}

/** The same for work on one user's data, by the command. @throws as actAsAdmin() does */
export const withUser = <T>(command: Command, user: string, work: (app: App, admin: Admin) => Promise<T>): Promise<T> =>
  withApp(command, async (app) => work(app, await actAsAdmin(app, user, pathOf(command))));

/** Such as "token issue". */
const pathOf = (command: Command): string =>
  command.parent?.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();

function requireData(file: string): void {
  try {
    if (statSync(file, { throwIfNoEntry: false })?.size) return;
  } catch {
    // It can't be looked at: opening it says why, and what to do.
    return;
  }
  throw new DomainError(
    "config",
    `There is no database in ${dirname(file)}: name its directory with --data-dir, or create a user first`,
  );
}
