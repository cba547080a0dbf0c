// `podkeep doctor`: checks what often goes wrong, with advice.
import { type Command, InvalidArgumentError } from "commander";
import { z } from "zod";
import type { Outside } from "../../src/doctor/doctor.ts";
import type { Finding } from "../../src/doctor/finding.ts";
import { printable } from "../../src/domain/printable.ts";
import { DomainError } from "../../src/errors.ts";
import { addSettings, flagsOf, SERVE_SETTINGS } from "../flags.ts";
import { colorsOf, printResult } from "../terminal/output.ts";

export function addDoctorCommand(program: Command): void {
  const command = program
    .command("doctor")
    .description("Look for what goes wrong in practice, and tell what to do about it")
    .option("--url <address>", "look at the server from outside too, at this address", readAddress)
    .option("--token <token>", "a token of the server there; without it one is made for a minute")
    .addHelpText("after", "\nExample: podkeep doctor --url https://podcasts.example.org")
    .action((outside: Outside) => printFindings(command, outside));
  addSettings(command, SERVE_SETTINGS);
}

function readAddress(text: string): string {
  const address = z.url({ protocol: /^https?$/ }).safeParse(text);
  if (!address.success) throw new InvalidArgumentError("It is no http or https address.");
  return address.data.replace(/\/+$/, "");
}

async function printFindings(command: Command, outside: Outside): Promise<void> {
  const { examine } = await import("../../src/doctor/doctor.ts");
  const findings = await examine(flagsOf(command), outside);
  await printResult(command, findings, () => findings.map(describe).join("\n"));
  const count = findings.filter(({ state }) => state === "problem").length;
  if (count > 0) throw new DomainError("conflict", `${count} ${count === 1 ? "problem" : "problems"} found`);
}

function describe({ about, state, detail, advice }: Finding): string {
  const { green, yellow, red, dim } = colorsOf(process.stdout);
  const mark = { ok: green("ok     "), warning: yellow("warning"), problem: red("problem") }[state];
  return `${mark} ${printable(`${about}: ${detail}`)}${advice ? `\n        ${dim("->")} ${printable(advice)}` : ""}`;
}
