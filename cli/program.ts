// The commands of the program.
import { Command, type OutputConfiguration } from "commander";
import { build, describeVersion, VERSION } from "../src/version.ts";
import { addBackupCommands } from "./commands/backup.ts";
import { addCompletionCommand } from "./commands/completion.ts";
import { addConfigCommands } from "./commands/config.ts";
import { addConformanceCommand } from "./commands/conformance.ts";
import { addCopyCommand } from "./commands/copy.ts";
import { addDeletionCommands } from "./commands/deletion.ts";
import { addDeviceCommands } from "./commands/device.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addFeedCommands } from "./commands/feed.ts";
import { addHealthcheckCommand } from "./commands/healthcheck.ts";
import { addHelpCommand } from "./commands/help.ts";
import { addHistoryCommand } from "./commands/history.ts";
import { addImportCommand } from "./commands/import.ts";
import { addMigrateCommand } from "./commands/migrate.ts";
import { addOpmlCommands } from "./commands/opml.ts";
import { addPlayCommands } from "./commands/play.ts";
import { addServeCommand } from "./commands/serve.ts";
import { addServiceCommands } from "./commands/service.ts";
import { addSubscriptionCommands } from "./commands/subscription.ts";
import { addTokenCommands } from "./commands/token.ts";
import { addUserCommands } from "./commands/user.ts";
import { addSettings, GLOBAL_SETTINGS } from "./flags.ts";

/** All commands. @param json whether the version is printed as JSON */
export function createProgram(json: boolean, output: OutputConfiguration): Command {
  const program = new Command("podkeep")
    .description("Keeps your podcast subscriptions and syncs them between apps")
    .version(json ? JSON.stringify({ version: VERSION, ...build }) : describeVersion())
    .option("--json", "print results and errors as JSON")
    .configureHelp({ showGlobalOptions: true })
    .configureOutput(output)
    .exitOverride();
  addSettings(program, GLOBAL_SETTINGS);
  addServeCommand(program);
  addUserCommands(program);
  addTokenCommands(program);
  addDeviceCommands(program);
  addSubscriptionCommands(program);
  addHistoryCommand(program);
  addPlayCommands(program);
  addDeletionCommands(program);
  addFeedCommands(program);
  addImportCommand(program);
  addOpmlCommands(program);
  addHealthcheckCommand(program);
  addBackupCommands(program);
  addMigrateCommand(program);
  addCopyCommand(program);
  addConfigCommands(program);
  addDoctorCommand(program);
  addConformanceCommand(program);
  addServiceCommands(program);
  addCompletionCommand(program);
  addHelpCommand(program);
  showUsageAfterErrors(program);
  return program.addHelpText(
    "after",
    "\nExit codes: 0 done, 1 failed, 2 wrong usage or input, 3 wrong configuration,\n4 not found.",
  );
}

function showUsageAfterErrors(command: Command): void {
  command.showHelpAfterError(`Usage: ${command.createHelp().commandUsage(command)}`);
  for (const inner of command.commands) showUsageAfterErrors(inner);
}
