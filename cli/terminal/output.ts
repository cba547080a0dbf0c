// Output of commands: tables on a terminal, tab-separated lines elsewhere, JSON with --json.
import { fstatSync, statSync, writeSync } from "node:fs";
import type { Command } from "commander";
import { colorsOf } from "../../src/colors.ts";
import { adviseToType } from "../../src/config/program.ts";
import { printable, printableJson, printableLines } from "../../src/domain/printable.ts";
import { codeOf, DomainError, reasonOf } from "../../src/errors.ts";

export const wantsJson = (command: Command): boolean => command.optsWithGlobals()["json"] === true;

/** Prints a command's result: `value` with --json, else the text. */
export async function printResult(command: Command, value: unknown, text: () => string): Promise<void> {
  if (wantsJson(command)) return print(printableJson(value, 2));
  const printed = text();
  await print(printed);
  await printTyping(printed);
}

/** Says how to type the commands in a printed text, if that is not as they are printed. */
async function printTyping(text: string): Promise<void> {
  const typing = adviseToType();
  if (typing && /\bpodkeep [a-z]/.test(text)) await print(typing, STDERR);
}

/** File descriptors. */
export const STDOUT = 1;
export const STDERR = 2;

/** Whether a file descriptor leads to a terminal. The stream's code, 4 ms and 2 MB, is loaded only if it may. */
export const isTerminal = (fd: number): boolean =>
  fstatSync(fd).isCharacterDevice() && (fd === STDOUT ? process.stdout : process.stderr).isTTY;

/** Prints a line. */
export async function print(text: string, to = STDOUT): Promise<void> {
  await write(`${text}\n`, to);
}

/** Writes text as it is. @returns false if the pipe is closed, which is not an error */
export async function write(text: string, to = STDOUT): Promise<boolean> {
  try {
    await writeAll(to, Buffer.from(text));
    return true;
  } catch (error) {
    if (codeOf(error) === "EPIPE") return false;
    const message = `The output can't be written: ${reasonOf(error)}. Changes are kept`;
    throw new DomainError("internal", message, { cause: error });
  }
}

/** Lines of a file for standard output: on a terminal with spaces in place of what could steer it. */
export const fileForOutput = (text: string): string => (isTerminal(STDOUT) ? printableLines(text) : text);

/** Milliseconds until a full pipe is tried again. */
const PAUSE = 1;

// Bun.write() begins again after the first part if process.stdout has made the pipe non-blocking (oven-sh/bun#35953).
async function writeAll(to: number, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(to, bytes, at);
    } catch (error) {
      if (codeOf(error) !== "EAGAIN") throw error;
      await Bun.sleep(PAUSE);
    }
  }
}

/**
 * Refuses an output in which a secret that is shown once is lost. For a closed one the runtime opens /dev/null.
 * @throws DomainError "invalid"
 */
export function requireOutput(): void {
  if (fstatSync(STDOUT).rdev !== statSync("/dev/null").rdev) return;
  const reason = "The output is closed or /dev/null, where what it shows once would be lost";
  throw new DomainError("invalid", `${reason}. Nothing was changed`);
}

/** Characters of each end of a message that is cut. */
const END = 1000;

/** Cuts out the middle of a message that repeats a very long value. */
export const cutMiddle = (message: string): string =>
  message.length > 2 * END ? `${message.slice(0, END)} … ${message.slice(-END)}` : message;

/** Begins the line of a terminal again. One without escape sequences, such as Emacs' shell, would show them. */
export const clearLine = (): string => (process.env["TERM"] === "dumb" ? "\r" : "\r\x1b[K");

/** Prints an error on standard error, in place of an unfinished line of progress. */
export async function printError(json: boolean, code: string, text: string): Promise<void> {
  const message = cutMiddle(text);
  const isTTY = isTerminal(STDERR);
  const start = isTTY ? clearLine() : "";
  const label = colorsOf({ isTTY }).red("error:");
  const line = json ? printableJson({ error: { code, message } }) : `${label} ${printable(message)}`;
  await print(start + line, STDERR);
  if (!json) await printTyping(message);
}

/**
 * Lays rows out in columns under a head, wrapped within their columns if the terminal is narrow.
 * @param none printed for an empty table on a terminal
 * @param shorten makes cells shorter if the table does not fit
 * @param spare head of a column that is left out if it still does not fit
 */
export function layTable(
  head: string[],
  rows: string[][],
  none: string,
  { shorten, spare }: { shorten?: (cell: string) => string; spare?: string } = {},
): string {
  const table = [head, ...rows.map((row) => row.map(printable))];
  if (!isTerminal(STDOUT)) return table.map((row) => row.join("\t")).join("\n");
  if (rows.length === 0) return none;
  const columns = process.stdout.columns || Number.POSITIVE_INFINITY;
  const isWide = (cells: string[][]) => totalWidth(widthsOf(cells)) > columns;
  const short = shorten && isWide(table) ? table.map((row) => row.map(shorten)) : table;
  const left = spare === undefined || !isWide(short) ? -1 : head.indexOf(spare);
  const cells = left < 0 ? short : short.map((row) => row.toSpliced(left, 1));
  const widths = fitInto(columns, widthsOf(cells));
  const { bold } = colorsOf(process.stdout);
  return cells.map((row, index) => layRow(row, widths, index === 0 ? bold : String)).join("\n");
}

/** Times become days, for tables in which the time of day matters less than a line per row. */
export const toDay = (cell: string) => cell.replace(/^(\d{4}-\d\d-\d\d)T[\d:]+Z$/, "$1");

/** Spaces between two columns. */
const GAP = 2;
/** Least width of a column that is made narrower. */
const NARROWEST = 8;

const widthsOf = (cells: string[][]) =>
  (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => Bun.stringWidth(row[column] ?? ""))));
const totalWidth = (widths: number[]) => widths.reduce((sum, width) => sum + width + GAP, -GAP);

/** Makes the widest columns narrower until the table fits. */
function fitInto(columns: number, natural: number[]): number[] {
  const widths = [...natural];
  for (;;) {
    const widest = Math.max(...widths);
    if (totalWidth(widths) <= columns || widest <= NARROWEST) return widths;
    widths[widths.indexOf(widest)] = widest - 1;
  }
}

function layRow(row: string[], widths: number[], paint: (text: string) => string): string {
  const wrapped = row.map((cell, column) => wrap(cell, widths[column] ?? 0));
  const height = Math.max(...wrapped.map(({ length }) => length));
  const lines = Array.from({ length: height }, (_, line) =>
    wrapped
      .map((cell, column) => {
        const text = cell[line] ?? "";
        return paint(text) + " ".repeat((widths[column] ?? 0) - Bun.stringWidth(text) + GAP);
      })
      .join("")
      .trimEnd(),
  );
  return lines.join("\n");
}

/** Lines of at most this width: Bun.wrapAnsi() takes some emoji, such as ❤️, for half as wide as they are. */
function wrap(text: string, width: number): string[] {
  for (let columns = width; ; columns--) {
    const lines = Bun.wrapAnsi(text, columns, { hard: true }).split("\n");
    if (columns <= 1 || lines.every((line) => Bun.stringWidth(line) <= width)) return lines;
  }
}

/** Lays names and values out, one pair per line. */
export function layPairs(pairs: string[][]): string {
  const width = Math.max(...pairs.map(([name = ""]) => name.length));
  const { bold } = colorsOf(process.stdout);
  return pairs.map(([name = "", value = ""]) => `${bold(name.padEnd(width))}  ${printable(value)}`).join("\n");
}

/** Lays a record out by the names of its fields. */
export const layRecord = (record: Record<string, string | number | boolean | null>): string =>
  layPairs(Object.entries(record).map(([name, value]) => [name.replaceAll("_", " "), String(value ?? "-")]));

/** Milliseconds by which clocks of servers may differ. */
const TOLERANCE = 60_000;

/** The time of a sync or a use; one in the future is of a clock that was ahead, and may stay for years. */
export const formatPast = (ms: number | null, now: number): string =>
  ms !== null && ms > now + TOLERANCE ? "clock was ahead" : (formatTime(ms) ?? "-");

/** A time in UTC, to the second. */
export const formatTime = (ms: number | null): string | null =>
  ms === null ? null : new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
