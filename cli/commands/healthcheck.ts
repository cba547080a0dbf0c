// `podkeep healthcheck`: asks the running server whether it can serve, for containers without curl.
import type { Command } from "commander";
import { localAddress } from "../../src/config/local-url.ts";
import { DomainError, messageOf } from "../../src/errors.ts";
import { ADDRESS_SETTINGS, addSettings, settingsOf } from "../flags.ts";
import { printResult } from "../terminal/output.ts";

/** Milliseconds. */
const PATIENCE = 3000;

export function addHealthcheckCommand(program: Command): void {
  const command = program
    .command("healthcheck")
    .description("Tell whether the server on this machine can serve")
    .addHelpText("after", "\nExample: podkeep healthcheck --port 8042")
    .action(() => checkHealth(command));
  addSettings(command, ADDRESS_SETTINGS);
}

async function checkHealth(command: Command): Promise<void> {
  const url = `${localAddress(settingsOf(command).config)}/readyz`;
  let status: number;
  try {
    ({ status } = await fetch(url, { signal: AbortSignal.timeout(PATIENCE) }));
  } catch (error) {
    throw new DomainError("unavailable", `${url} does not answer: ${messageOf(error)}`);
  }
  if (status !== 200) throw new DomainError("unavailable", `${url} answers ${status}`);
  await printResult(command, { ok: true, url }, () => `${url} answers`);
}
