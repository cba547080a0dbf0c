// `podkeep healthcheck`: readiness of the local server, for containers without curl.
import type { Command } from "commander";
import { directUrl } from "../../src/config/local-url.ts";
import { DomainError, reasonOf } from "../../src/errors.ts";
import { ADDRESS_SETTINGS, addSettings, availableSettings } from "../flags.ts";
import { printResult } from "../terminal/output.ts";

/** Milliseconds. */
const TIMEOUT = 3000;

export function addHealthcheckCommand(program: Command): void {
  const command = program
    .command("healthcheck")
    .description("Check whether the server on this machine is ready")
    .addHelpText("after", "\nExample: podkeep healthcheck --port 8042")
    .action(checkHealth);
  addSettings(command, ADDRESS_SETTINGS);
}

async function checkHealth(_options: unknown, command: Command): Promise<void> {
  const url = `${directUrl(availableSettings(command).config)}/readyz`;
  let status: number;
  try {
    ({ status } = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT) }));
  } catch (error) {
    throw new DomainError(
      "unavailable",
      `${url} does not respond (${reasonOf(error)}): is the server running, and on this port?`,
    );
  }
  if (status !== 200) throw new DomainError("unavailable", `${url} responds ${status}: the server's log says why`);
  await printResult(command, { ok: true, url }, () => `${url} responds 200`);
}
