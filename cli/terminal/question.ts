// Questions on the terminal.
import type { Interface } from "node:readline";

/** Milliseconds between looks whether the terminal is still there. */
const PAUSE = 1000;

/** Asks, and closes the reader. @returns what was typed; null after Ctrl-C, Ctrl-D, or if the terminal is gone */
export async function ask(reader: Interface, question: string): Promise<string | null> {
  const { isatty } = await import("node:tty");
  const { promise, resolve } = Promise.withResolvers<string | null>();
  // Not every program dies with its terminal (nohup, npm), and the runtime would try to read from it for ever.
  const watch = setInterval(() => isatty(process.stdin.fd) || resolve(null), PAUSE);
  reader.once("close", () => resolve(null));
  reader.question(question, resolve);
  const answer = await promise;
  clearInterval(watch);
  reader.close();
  return answer;
}
