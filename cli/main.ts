#!/usr/bin/env bun
// The program: its commands, and what exit code an error ends it with.
import { Command, CommanderError, type OutputConfiguration } from "commander";
import { DomainError, type ErrorCode, messageOf } from "../src/errors.ts";
import { build, describeVersion, VERSION } from "../src/version.ts";
import { addBackupCommands } from "./commands/backup.ts";
import { addCompletionCommand, COMPLETE } from "./commands/completion.ts";
import { addConfigCommands } from "./commands/config.ts";
import { addCopyCommand } from "./commands/copy.ts";
import { addDeletionCommands } from "./commands/deletion.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addHealthcheckCommand } from "./commands/healthcheck.ts";
import { addHelpCommand } from "./commands/help.ts";
import { addMigrateCommand } from "./commands/migrate.ts";
import { addOpmlCommands } from "./commands/opml.ts";
import { addServeCommand } from "./commands/serve.ts";
import { addServiceCommands } from "./commands/service.ts";
import { addTokenCommands } from "./commands/token.ts";
import { addUserCommands } from "./commands/user.ts";
import { addSettings, GLOBAL_SETTINGS } from "./flags.ts";
import { print, printError } from "./terminal/output.ts";

const FAILED = 1;
const USAGE = 2;
const CONFIGURATION = 3;
const NOT_FOUND = 4;

/** The one table from error code to exit code. */
const EXIT_CODES: Record<ErrorCode, number> = {
  unauthorized: FAILED,
  forbidden: FAILED,
  conflict: FAILED,
  gone: FAILED,
  too_large: FAILED,
  too_many: FAILED,
  internal: FAILED,
  unavailable: FAILED,
  invalid: USAGE,
  method_not_allowed: USAGE,
  config: CONFIGURATION,
  not_found: NOT_FOUND,
};

function createProgram(json: boolean, output: OutputConfiguration): Command {
  const program = new Command("podkeep")
    .description("Keeps a listener's podcast subscriptions and syncs them between apps")
    .version(json ? JSON.stringify({ version: VERSION, ...build }) : describeVersion())
    .option("--json", "print JSON alone, errors too")
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError("(podkeep --help tells more)")
    .configureOutput(output)
    .exitOverride();
  addSettings(program, GLOBAL_SETTINGS);
  addServeCommand(program);
  addUserCommands(program);
  addTokenCommands(program);
  addDeletionCommands(program);
  addOpmlCommands(program);
  addHealthcheckCommand(program);
  addBackupCommands(program);
  addMigrateCommand(program);
  addCopyCommand(program);
  addConfigCommands(program);
  addDoctorCommand(program);
  addServiceCommands(program);
  addCompletionCommand(program);
  addHelpCommand(program);
  return program.addHelpText(
    "after",
    "\nExit codes: 0 done, 1 failed, 2 wrong usage or input, 3 configuration, 4 not found.",
  );
}

/** Runs one command and gives the exit code. */
async function run(args: string[]): Promise<number> {
  const json = args.includes("--json");
  // Help and the version, and what commander says of wrong usage.
  let [told, complaint] = ["", ""];
  const program = createProgram(json, {
    writeOut: (text) => {
      told += text;
    },
    writeErr: (text) => {
      complaint += text;
    },
  });
  try {
    // What shells ask for is any words at all, so no command of commander's.
    if (args[0] === COMPLETE) {
      const { complete } = await import("./terminal/complete.ts");
      for (const line of await complete(program, args.slice(1))) await print(line);
    } else await program.parseAsync(args, { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) {
      const isHelp = json && error.code !== "commander.version";
      await print(isHelp ? JSON.stringify({ help: told.trimEnd() }) : told.trimEnd());
      return 0;
    }
    if (error instanceof CommanderError) {
      const missing = error.code === "commander.help" && "name a command: podkeep --help lists them";
      const reason = missing || error.message.replace(/^error: /, "");
      await (json ? printError(json, "usage", reason) : print(complaint.trimEnd(), Bun.stderr));
      return USAGE;
    }
    if (error instanceof DomainError) {
      await printError(json, error.code, error.message);
      return EXIT_CODES[error.code];
    }
    await printError(json, "internal", messageOf(error));
    return FAILED;
  }
}

// Before any file is made: what podkeep writes is its owner's alone.
process.umask(0o077);
// At once, whatever may still be open.
process.exit(await run(process.argv.slice(2)));
