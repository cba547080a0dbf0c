// Asks before something is destroyed.
import { createInterface } from "node:readline";
import { DomainError } from "../../src/errors.ts";

/**
 * Returns where the answer is yes, or --yes was given.
 * @throws DomainError "invalid" where nobody can be asked, "conflict" where the answer is not yes
 */
export async function confirm(question: string, yes: boolean | undefined): Promise<void> {
  if (yes) return;
  if (!process.stdin.isTTY) throw new DomainError("invalid", "There is no terminal to ask on: say --yes");
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await new Promise<string>((resolve) => {
    reader.once("close", () => resolve(""));
    reader.question(`${question} [y/N] `, resolve);
  });
  reader.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new DomainError("conflict", "Nothing was changed");
}
