// What a command does to the machine, as a list that can be told before it is done.
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { $ } from "bun";
import { DomainError, messageOf } from "../errors.ts";

export type Step = { write: string; mode: number; text: string } | { remove: string } | { run: string[] };

/** The step in a line, and with `whole` the text of a file too. */
export function describeStep(step: Step, whole: boolean): string {
  if ("run" in step) return `run     ${step.run.map((word) => $.escape(word)).join(" ")}`;
  if ("remove" in step) return `remove  ${step.remove}`;
  return `write   ${step.write}${whole ? `\n${step.text.replace(/^(?=.)/gm, "    ")}` : ""}`;
}

/** @throws DomainError "unavailable" with the reason that the machine gives */
export function takeStep(step: Step): void {
  try {
    if ("run" in step) run(step.run);
    else if ("remove" in step) rmSync(step.remove);
    else write(step);
  } catch (error) {
    throw new DomainError("unavailable", messageOf(error), { cause: error });
  }
}

function write({ write: path, text, mode }: Extract<Step, { write: string }>): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  writeFileSync(path, text, { mode });
  // The process's umask took rights away.
  chmodSync(path, mode);
}

/** Whether a program ends well. */
export const succeeds = (words: string[]) => Bun.spawnSync(words, { stdout: "ignore", stderr: "ignore" }).success;

function run(words: string[]): void {
  if (!Bun.which(words[0] ?? "")) throw new Error(`There is no ${words[0]} on this machine`);
  const { success, stderr } = Bun.spawnSync(words, { stdout: "ignore", stderr: "pipe" });
  if (!success) throw new Error(`${words.join(" ")} failed: ${stderr.toString().trim()}`);
}
