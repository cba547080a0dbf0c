// `podkeep migrate`: brings the schema up to date, for those who don't want that done at start.
import type { Command } from "commander";
import { settingsOf } from "../flags.ts";
import { printResult } from "../terminal/output.ts";

export function addMigrateCommand(program: Command): void {
  const command = program
    .command("migrate")
    .description("Bring the database up to this program's schema; PODKEEP_MIGRATE=command leaves that to this command")
    .action(async () => {
      const { config } = settingsOf(command);
      const { migrateDatabase } = await import("../../src/app.ts");
      const schema = await migrateDatabase(config);
      await printResult(command, { schema }, () => `The database has schema ${schema}`);
    });
}
