// Progress on a terminal.
import { isTerminal, STDERR } from "./output.ts";

/** Shows how much of something is done, on one line. */
export function showProgress(what: string, done: number, all: number): void {
  if (!isTerminal(STDERR)) return;
  process.stderr.write(`\r${done} of ${all} ${what}${done === all ? "\n" : ""}`);
}
