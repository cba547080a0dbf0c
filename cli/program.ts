// The commands of the program.
import { Command, type OutputConfiguration } from "commander";
import { adviseToType } from "../src/config/program.ts";
import { build, describeVersion, VERSION } from "../src/version.ts";
import { addSettings, GLOBAL_SETTINGS, isSetting } from "./flags.ts";

/** The commands in the order of the help. */
const COMMANDS = new Map<string | undefined, () => Promise<(program: Command) => void>>(
  Object.entries({
    serve: async () => (await import("./commands/serve.ts")).addServeCommand,
    user: async () => (await import("./commands/user.ts")).addUserCommands,
    token: async () => (await import("./commands/token.ts")).addTokenCommands,
    device: async () => (await import("./commands/device.ts")).addDeviceCommands,
    subscription: async () => (await import("./commands/subscription.ts")).addSubscriptionCommands,
    history: async () => (await import("./commands/history.ts")).addHistoryCommand,
    play: async () => (await import("./commands/play.ts")).addPlayCommands,
    deletion: async () => (await import("./commands/deletion.ts")).addDeletionCommands,
    feed: async () => (await import("./commands/feed.ts")).addFeedCommands,
    import: async () => (await import("./commands/import.ts")).addImportCommand,
    opml: async () => (await import("./commands/opml.ts")).addOpmlCommands,
    healthcheck: async () => (await import("./commands/healthcheck.ts")).addHealthcheckCommand,
    backup: async () => (await import("./commands/backup.ts")).addBackupCommands,
    migrate: async () => (await import("./commands/migrate.ts")).addMigrateCommand,
    copy: async () => (await import("./commands/copy.ts")).addCopyCommand,
    config: async () => (await import("./commands/config.ts")).addConfigCommands,
    doctor: async () => (await import("./commands/doctor.ts")).addDoctorCommand,
    conformance: async () => (await import("./commands/conformance.ts")).addConformanceCommand,
    service: async () => (await import("./commands/service.ts")).addServiceCommands,
    completion: async () => (await import("./commands/completion.ts")).addCompletionCommand,
    help: async () => (await import("./commands/help.ts")).addHelpCommand,
  }),
);

/**
 * All commands, or only the one that is called.
 * @param json whether the version is printed as JSON
 * @param args the command line; the command that it calls starts faster alone
 */
export async function createProgram(json: boolean, output: OutputConfiguration, args: string[] = []): Promise<Command> {
  const program = new Command("podkeep")
    .description("Keeps your podcasts and play positions in sync between apps")
    .version(json ? JSON.stringify({ version: VERSION, ...build }) : describeVersion())
    .option("--json", "print results and errors as JSON")
    .configureHelp({ showGlobalOptions: true })
    .configureOutput(output)
    .exitOverride();
  addSettings(program, GLOBAL_SETTINGS);
  const one = args[0] === "help" ? undefined : COMMANDS.get(args[0]);
  for (const load of one ? [one] : COMMANDS.values()) (await load())(program);
  showUsageAfterErrors(program);
  refuseSlips(program, args);
  program.hook("preAction", (_, command) => refuseEmpty(command));
  const typing = adviseToType();
  if (typing !== null) program.addHelpText("afterAll", `\n${typing}`);
  return program.addHelpText(
    "after",
    "\nExit codes: 0 done, 1 failed, 2 wrong usage or input, 3 wrong configuration,\n4 not found.",
  );
}

/** Refuses options that are given two values, of which only the last would count, none, or the next option for one. */
function refuseSlips(command: Command, args: string[]): void {
  for (const option of command.options.filter(({ required }) => required)) {
    let before: unknown;
    command.on(`option:${option.name()}`, (value) => {
      // With an equals sign it is no word of its own.
      if (String(value).startsWith("--") && args.includes(value))
        command.error(`error: option '${option.flags}' argument missing`);
      // Settings refuse it themselves, if it means nothing to them.
      if (String(value).trim() === "" && !isSetting(option)) command.error(`error: ${option.long} is empty`);
      if (before !== undefined) command.error(`error: ${option.long} is given twice, and takes one value`);
      before = value;
    });
  }
  for (const inner of command.commands) refuseSlips(inner, args);
}

/** Refuses empty arguments, such as those of a script whose variable is not set. */
function refuseEmpty(command: Command): void {
  const at = command.args.findIndex((text) => text.trim() === "");
  if (at < 0) return;
  const argument = command.registeredArguments[at] ?? command.registeredArguments.at(-1);
  command.error(`error: ${argument?.name()} is empty`);
}

function showUsageAfterErrors(command: Command): void {
  command.showHelpAfterError(`Usage: ${command.createHelp().commandUsage(command)}`);
  for (const inner of command.commands) showUsageAfterErrors(inner);
}
