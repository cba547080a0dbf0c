// What a command does to the machine, as a list that can be told before it is done.
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { $ } from "bun";
import { DomainError, messageOf } from "../src/errors.ts";

export type Step = { write: string; mode: number; text: string } | { remove: string } | { run: string[] };

/** The step in a line, and with `whole` the text of a file too. */
export function describeStep(step: Step, whole: boolean): string {
  if ("run" in step) return `run     ${step.run.map((word) => $.escape(word)).join(" ")}`;
  if ("remove" in step) return `remove  ${step.remove}`;
  return `write   ${step.write}${whole ? `\n${step.text.replace(/^(?=.)/gm, "    ")}` : ""}`;
}

/** @throws DomainError "unavailable" with the reason that the machine gives */
export async function takeStep(step: Step): Promise<void> {
  if ("run" in step) return run(step.run);
  try {
    if ("remove" in step) return rmSync(step.remove);
    mkdirSync(dirname(step.write), { recursive: true, mode: 0o755 });
    writeFileSync(step.write, step.text, { mode: step.mode });
    // The process's umask took rights away.
    chmodSync(step.write, step.mode);
  } catch (error) {
    throw new DomainError("unavailable", messageOf(error), { cause: error });
  }
}

/** Whether a program ends well. */
export const succeeds = (words: string[]) => Bun.spawnSync(words, { stdout: "ignore", stderr: "ignore" }).success;

function run(words: string[]): void {
  if (!Bun.which(words[0] ?? "")) throw new DomainError("unavailable", `There is no ${words[0]} on this machine`);
  const { success, stderr } = Bun.spawnSync(words, { stdout: "ignore", stderr: "pipe" });
  if (!success) throw new DomainError("unavailable", `${words.join(" ")} failed: ${stderr.toString().trim()}`);
}
