// What commands print: tables on a terminal, tab-separated lines elsewhere, JSON with --json.
import type { Command } from "commander";
import pc from "picocolors";

const colorsOf = (stream: NodeJS.WriteStream) => pc.createColors(stream.isTTY === true && pc.isColorSupported);

export const wantsJson = (command: Command): boolean => command.optsWithGlobals()["json"] === true;

/** Prints a command's result: `value` as JSON where that is wanted, else what `text` makes of it. */
export async function printResult(
  command: Command,
  value: unknown,
  text: () => string | Promise<string>,
): Promise<void> {
  const printed = wantsJson(command) ? JSON.stringify(value, null, 2) : await text();
  await Bun.write(Bun.stdout, `${printed}\n`);
}

/** Prints why a command failed, on standard error. */
export function printError(json: boolean, code: string, message: string): void {
  const label = colorsOf(process.stderr).red("error:");
  process.stderr.write(json ? `${JSON.stringify({ error: { code, message } })}\n` : `${label} ${printable(message)}\n`);
}

/** Text from elsewhere without what could steer a terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, " ");
}
