// Confirmation before something is deleted.
import { DomainError } from "../../src/errors.ts";
import { ask } from "./question.ts";

/**
 * Returns if the answer is yes, or --yes was given.
 * @throws DomainError "invalid" without a terminal, "conflict" if the answer is not yes
 */
export async function confirm(question: string, yes: boolean | undefined): Promise<void> {
  if (yes) return;
  if (!process.stdin.isTTY) throw new DomainError("invalid", "There is no terminal to ask on: add --yes");
  const { createInterface } = await import("node:readline");
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await ask(reader, `${question} [y/N] `);
  if (answer === null) process.stderr.write("\n");
  if (!/^y(es)?$/i.test(answer?.trim() ?? "")) throw new DomainError("conflict", "Nothing was changed");
}
