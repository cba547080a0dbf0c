// Output of commands: tables on a terminal, tab-separated lines elsewhere, JSON with --json.
import type { Command } from "commander";
import pc from "picocolors";
import { printable } from "../../src/domain/printable.ts";

export const colorsOf = (stream: NodeJS.WriteStream) => pc.createColors(stream.isTTY === true && pc.isColorSupported);

export const wantsJson = (command: Command): boolean => command.optsWithGlobals()["json"] === true;

/** Prints a command's result: `value` with --json, else the text. */
export async function printResult(command: Command, value: unknown, text: () => string): Promise<void> {
  const printed = wantsJson(command) ? JSON.stringify(value, null, 2) : text();
  await print(printed);
}

/** Prints a line; a closed pipe is not an error. */
export async function print(text: string, to = Bun.stdout): Promise<void> {
  try {
    await Bun.write(to, `${text}\n`);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPIPE")) throw error;
  }
}

/** Prints an error on standard error. */
export function printError(json: boolean, code: string, message: string): Promise<void> {
  const label = colorsOf(process.stderr).red("error:");
  return print(json ? JSON.stringify({ error: { code, message } }) : `${label} ${printable(message)}`, Bun.stderr);
}

/** Lays rows out in columns under a head. `none` is printed for an empty table on a terminal. */
export function layTable(head: string[], rows: string[][], none: string): string {
  const cells = rows.map((row) => row.map(printable));
  if (!process.stdout.isTTY) return [head, ...cells].map((row) => row.join("\t")).join("\n");
  if (rows.length === 0) return none;
  const widths = head.map((_, column) =>
    Math.max(...[head, ...cells].map((row) => Bun.stringWidth(row[column] ?? ""))),
  );
  const { bold } = colorsOf(process.stdout);
  const lines = [head.map(bold), ...cells].map((row) =>
    row.map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - Bun.stringWidth(cell) + 2)),
  );
  return lines.map((line) => line.join("").trimEnd()).join("\n");
}

/** Lays names and values out, one pair per line. */
export function layPairs(pairs: [name: string, value: string][]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  const { bold } = colorsOf(process.stdout);
  return pairs.map(([name, value]) => `${bold(name.padEnd(width))}  ${printable(value)}`).join("\n");
}

/** A time in UTC, to the second. */
export const formatTime = (ms: number | null): string | null =>
  ms === null ? null : new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
