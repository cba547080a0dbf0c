// Progress on a terminal.

/** Shows how much of something is done, on one line. */
export function showProgress(what: string, done: number, all: number): void {
  if (!process.stderr.isTTY) return;
  process.stderr.write(`\r${done} of ${all} ${what}${done === all ? "\n" : ""}`);
}
