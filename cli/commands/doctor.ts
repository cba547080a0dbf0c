// `podkeep doctor`: checks what often goes wrong, with advice.
import { type Command, InvalidArgumentError } from "commander";
import { colorsOf } from "../../src/colors.ts";
import { url } from "../../src/config/values.ts";
import type { Outside } from "../../src/doctor/doctor.ts";
import type { Finding } from "../../src/doctor/finding.ts";
import { printable } from "../../src/domain/printable.ts";
import { DomainError } from "../../src/errors.ts";
import { plural } from "../../src/plural.ts";
import { addSettings, flagsOf, SERVE_SETTINGS, serviceFiles } from "../flags.ts";
import { printResult } from "../terminal/output.ts";

export function addDoctorCommand(program: Command): void {
  const command = program
    .command("doctor")
    .description("Check for common problems and show how to fix them")
    .option("--url <url>", "also check the server from outside, at this public URL", readAddress)
    .option("--token <token>", "a token of that server (default: one issued here for these checks)", readToken)
    .addHelpText("after", "\nExample: podkeep doctor --url https://podcasts.example.org")
    .action(printFindings);
  addSettings(command, SERVE_SETTINGS);
}

function readAddress(text: string): string {
  try {
    return url(text);
  } catch {
    throw new InvalidArgumentError("It must be an http or https URL.");
  }
}

/** No header can have other characters, such as the dots of a token that was cut. */
function readToken(text: string): string {
  if (/^[!-~]+$/.test(text)) return text;
  throw new InvalidArgumentError("It must be a whole token: letters, digits and signs of ASCII.");
}

async function printFindings(outside: Outside, command: Command): Promise<void> {
  if (outside.token !== undefined && outside.url === undefined)
    throw new DomainError("invalid", "--token is for the server at --url: give its public URL too");
  const { examine } = await import("../../src/doctor/doctor.ts");
  const flags = flagsOf(command);
  const findings = await examine(flags, serviceFiles(flags), outside);
  await printResult(command, findings, () => findings.map(describe).join("\n"));
  const count = findings.filter(({ state }) => state === "problem").length;
  if (count > 0) throw new DomainError("conflict", `${plural(count, "problem")} found`);
}

function describe({ about, state, detail, advice }: Finding): string {
  const { green, yellow, red, dim } = colorsOf(process.stdout);
  const mark = { ok: green("ok     "), warning: yellow("warning"), problem: red("problem") }[state];
  return `${mark} ${printable(`${about}: ${detail}`)}${advice ? `\n        ${dim("->")} ${printable(advice)}` : ""}`;
}
