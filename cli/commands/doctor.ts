// `podkeep doctor`: what goes wrong in practice, and what to do about it.
import { type Command, InvalidArgumentError } from "commander";
import { z } from "zod";
import { localAddress } from "../../src/config/local-url.ts";
import { checkFolder } from "../../src/doctor/data-directory.ts";
import { checkData } from "../../src/doctor/database.ts";
import { type Finding, problem } from "../../src/doctor/finding.ts";
import { checkAddress, checkPort } from "../../src/doctor/public-url.ts";
import { printable } from "../../src/domain/printable.ts";
import { DomainError } from "../../src/errors.ts";
import { lendToken } from "../../src/services/tokens.ts";
import { addSettings, SERVE_SETTINGS } from "../flags.ts";
import { colorsOf, printResult } from "../terminal/output.ts";
import { findProblems } from "./config.ts";

interface DoctorOptions {
  url?: string;
  token?: string;
}

export function addDoctorCommand(program: Command): void {
  const command = program
    .command("doctor")
    .description("Look for what goes wrong in practice, and tell what to do about it")
    .option("--url <address>", "look at the server from outside too, at this address", readAddress)
    .option("--token <token>", "a token of the server there; without it one is made for a minute")
    .addHelpText("after", "\nExample: podkeep doctor --url https://podcasts.example.org")
    .action((options: DoctorOptions) => examine(command, options));
  addSettings(command, SERVE_SETTINGS);
}

function readAddress(text: string): string {
  const address = z.url({ protocol: /^https?$/ }).safeParse(text);
  if (!address.success) throw new InvalidArgumentError("It is no http or https address.");
  return address.data.replace(/\/+$/, "");
}

async function examine(command: Command, options: DoctorOptions): Promise<void> {
  const { settings, problems } = findProblems(command);
  const findings = problems.map((detail) =>
    problem("settings", detail, "podkeep config show tells where each is from"),
  );
  if (settings) {
    const { config } = settings;
    if ("file" in config.location) findings.push(...checkFolder(config, config.location.file, Date.now()));
    findings.push(
      ...(await checkData(config, async (app) => {
        if (options.url === undefined) return [];
        const { url, token } = options;
        return app && token === undefined
          ? lendToken(app, (lent) => checkAddress(url, lent))
          : checkAddress(url, token ?? null);
      })),
      await checkPort(config, localAddress(config)),
    );
  }
  await printResult(command, findings, () => findings.map(describe).join("\n"));
  const count = findings.filter(({ state }) => state === "problem").length;
  if (count > 0) throw new DomainError("conflict", `${count} ${count === 1 ? "problem" : "problems"} found`);
}

function describe({ about, state, detail, advice }: Finding): string {
  const { green, yellow, red, dim } = colorsOf(process.stdout);
  const mark = { ok: green("ok     "), warning: yellow("warning"), problem: red("problem") }[state];
  return `${mark} ${printable(`${about}: ${detail}`)}${advice ? `\n        ${dim("->")} ${printable(advice)}` : ""}`;
}
