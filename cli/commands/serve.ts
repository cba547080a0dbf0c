// `podkeep serve`: runs the server.
import type { Command } from "commander";
import { findDoubtful, findStrays } from "../../src/config/problems.ts";
import { programArguments } from "../../src/config/program.ts";
import { firstStep } from "../first-step.ts";
import { addSettings, SERVE_SETTINGS, settingsOf } from "../flags.ts";
import { isTerminal, STDOUT, wantsJson } from "../terminal/output.ts";

export function addServeCommand(program: Command): void {
  const command = program
    .command("serve")
    .description("Run the server. Every setting is a flag or a PODKEEP_ variable")
    .addHelpText("after", "\nExample: podkeep serve --host 0.0.0.0 --public-url https://podcasts.example.org")
    .action(serve);
  addSettings(command, SERVE_SETTINGS);
}

async function serve(_options: unknown, command: Command): Promise<void> {
  const settings = settingsOf(command);
  const { runServer } = await import("../../src/server/run.ts");
  await runServer(settings.config, {
    forPeople: isTerminal(STDOUT) && !wantsJson(command),
    program: programArguments(),
    warnings: [...findStrays(process.env), ...findDoubtful(settings.config, process.env["TZ"])],
    firstStep: (port) => firstStep({ ...settings, config: { ...settings.config, port } }),
  });
}
