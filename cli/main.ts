#!/usr/bin/env bun
// The program: runs one command, with an exit code.
import { CommanderError } from "commander";
import { READ_FILE } from "../src/config/program.ts";
import { printableLines } from "../src/domain/printable.ts";
import { DomainError, type ErrorCode, reasonOf } from "../src/errors.ts";
import { COMPLETE } from "./commands/completion.ts";
import { createProgram } from "./program.ts";
import { cutMiddle, print, printError, STDERR } from "./terminal/output.ts";

const FAILED = 1;
const USAGE = 2;
const CONFIGURATION = 3;
const NOT_FOUND = 4;

/** Exit codes of errors. */
const EXIT_CODES: Record<ErrorCode, number> = {
  unauthorized: FAILED,
  forbidden: FAILED,
  conflict: FAILED,
  gone: FAILED,
  too_large: FAILED,
  too_many: FAILED,
  internal: FAILED,
  unavailable: FAILED,
  invalid: USAGE,
  method_not_allowed: USAGE,
  config: CONFIGURATION,
  not_found: NOT_FOUND,
};

/** Runs one command, and prints what went wrong. @returns the exit code */
async function run(args: string[]): Promise<number> {
  const json = args.includes("--json") || args[0] === READ_FILE;
  try {
    return await runCommand(args, json);
  } catch (error) {
    if (error instanceof DomainError) {
      const again = error.extras.in_doubt ? ". Some of it, or all, may be done: run it again for the rest" : "";
      await printError(json, error.code, `${error.message}${again}`);
      return EXIT_CODES[error.code];
    }
    await printError(json, "internal", describeUnexpected(error));
    return FAILED;
  }
}

/** @returns the exit code, also of wrong usage */
async function runCommand(args: string[], json: boolean): Promise<number> {
  // Commander's output: help and version, usage errors.
  let [help, complaint] = ["", ""];
  const output = {
    writeOut: (text: string) => {
      help += text;
    },
    writeErr: (text: string) => {
      complaint += printableLines(reword(text));
    },
  };
  try {
    const program = await createProgram(json, output, args);
    // Completion takes any words, so commander must not parse them.
    if (args[0] === COMPLETE) {
      const { complete } = await import("./terminal/complete.ts");
      for (const line of await complete(program, args.slice(1))) await print(line);
    } else if (args[0] === READ_FILE) {
      const { readFileHere } = await import("../src/moving/file-process.ts");
      await readFileHere(Number(args[1]));
    } else await program.parseAsync(args, { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) {
      const isHelp = json && error.code !== "commander.version";
      await print(isHelp ? JSON.stringify({ help: help.trimEnd() }) : help.trimEnd());
      return 0;
    }
    if (error instanceof CommanderError) {
      const missing = error.code === "commander.help" && "no command given: podkeep --help lists them";
      const reason = missing || reword(error.message).replace(/^error: /, "");
      const shown = missing ? complaint : cutMiddle(complaint);
      await (json ? printError(json, "usage", reason) : print(shown.trimEnd(), STDERR));
      return USAGE;
    }
    throw error;
  }
}

/** Says as errors of settings do which value is wrong: commander's words name the option's placeholder first. */
const reword = (text: string): string =>
  text
    .replace(/^error: option '.*?(--[\w-]+).*?' argument '(.*?)' is invalid\. /, 'error: $1="$2" is not valid. ')
    .replace(
      /^error: command-argument value '(.*?)' is invalid for argument '(\w+)'\. /,
      'error: "$1" is not a valid $2. ',
    );

/** A failed system call has the path that it was about. */
const describeUnexpected = (error: unknown) =>
  error instanceof Error && "path" in error ? `${error.path}: ${reasonOf(error)}` : reasonOf(error);

// Files that podkeep creates are readable by their owner only.
process.umask(0o077);
// Without waiting for what may still be open.
process.exit(await run(process.argv.slice(2)));
