// Ctrl-C while a command works.
import type { Command } from "commander";
import { printError, wantsJson } from "./output.ts";

/** Exit code of a program that Ctrl-C has ended, as shells have it. */
const INTERRUPTED = 130;

/** Works; Ctrl-C ends the program, with the `state` that things are in then. What is not committed is undone. */
export async function workInterruptibly<T>(command: Command, state: () => string, work: () => Promise<T>): Promise<T> {
  const interrupt = async () => {
    await printError(wantsJson(command), "interrupted", `Interrupted. ${state()}`);
    process.exit(INTERRUPTED);
  };
  process.on("SIGINT", interrupt);
  try {
    return await work();
  } finally {
    process.off("SIGINT", interrupt);
  }
}

/** The state of an import: until it stores, and in a dry run, nothing is changed. */
export const stateOfImport = (stores: boolean): string =>
  stores ? "What was added until now stays: run it again for the rest" : "Nothing was changed";
