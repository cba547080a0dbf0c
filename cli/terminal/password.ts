// Passwords that are typed, read from standard input, or generated.
import { isUtf8 } from "node:buffer";
import { type Command, Option } from "commander";
import { DomainError, isRefusal } from "../../src/errors.ts";
import { generatePassphrase, requireGoodPassword } from "../../src/services/accounts/passwords.ts";
import { readInput } from "../input-file.ts";
import { ask } from "./question.ts";

export interface PasswordOptions {
  passwordStdin?: boolean;
  generate?: boolean;
}

/** Adds the options that say where a password comes from. @param others names of options that exclude them */
export function addPasswordOptions(command: Command, others: string[]): Command {
  return command
    .addOption(
      new Option("--password-stdin", "read the password from standard input").conflicts(["generate", ...others]),
    )
    .addOption(new Option("--generate", "generate a passphrase and print it").conflicts(others));
}

/**
 * Gets a new password; asks twice on the terminal if no option says otherwise.
 * @throws DomainError "invalid" if it is not a good one, or there is no terminal; "conflict" after Ctrl-C
 */
export async function readPassword({ passwordStdin, generate }: PasswordOptions): Promise<string> {
  if (generate) return generatePassphrase();
  const password = passwordStdin ? await readLine() : await askTwice();
  requireGoodPassword(password);
  return password;
}

/** Reads a password that exists, on another server too. @throws DomainError "invalid" without a terminal */
export async function askPassword(passwordStdin: boolean | undefined): Promise<string> {
  if (passwordStdin) return readLine();
  if (!process.stdin.isTTY) throw new DomainError("invalid", "There is no terminal to ask on: add --password-stdin");
  return askUnseen("Password: ");
}

/** Bytes of standard input; a token has 50. */
const MOST_BYTES = 16 * 1024;

/** Standard input without its end of line. @throws DomainError "invalid", "too_large" */
async function readLine(): Promise<string> {
  const bytes = await readInput("-", MOST_BYTES);
  if (!isUtf8(bytes)) throw new DomainError("invalid", "The password on standard input is not UTF-8");
  const line = new TextDecoder().decode(bytes).replace(/\r?\n$/, "");
  if (line === "") throw new DomainError("invalid", "Standard input has no password");
  return line;
}

/** How often a new password is asked for. */
const MOST_TRIES = 5;

async function askTwice(): Promise<string> {
  if (!process.stdin.isTTY) {
    throw new DomainError("invalid", "There is no terminal to ask on: add --password-stdin or --generate");
  }
  for (let left = MOST_TRIES; ; left--) {
    try {
      const password = await askUnseen("Password: ");
      requireGoodPassword(password);
      if ((await askUnseen("Again: ")) !== password) throw new DomainError("invalid", "The two passwords differ");
      return password;
    } catch (error) {
      if (!isRefusal(error, "invalid") || left === 1) throw error;
      process.stderr.write(`${error.message}. Try again.\n`);
    }
  }
}

// The terminal shows what readline writes, and so nothing of the password.
async function askUnseen(prompt: string): Promise<string> {
  const [{ createInterface }, { Writable }] = await Promise.all([import("node:readline"), import("node:stream")]);
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: process.stdin, output, terminal: true });
  // Before the prompt: what is typed at once must not be shown either.
  process.stdin.setRawMode(true);
  process.stderr.write(prompt);
  const answer = await ask(reader, "");
  process.stderr.write("\n");
  if (answer === null) throw new DomainError("conflict", "Nothing was changed");
  return answer;
}
