// `podkeep migrate`: upgrades the database's schema.
import type { Command } from "commander";
import { settingsOf } from "../flags.ts";
import { printResult } from "../terminal/output.ts";

export function addMigrateCommand(program: Command): void {
  const command = program
    .command("migrate")
    .description("Upgrade the database schema, as a server does at its start by default")
    .action(async () => {
      const { config } = settingsOf(command);
      const { migrateDatabase } = await import("../../src/app.ts");
      const schema = await migrateDatabase(config);
      await printResult(command, { schema }, () => `The database has schema version ${schema}`);
    });
}
