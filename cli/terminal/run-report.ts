// The report of a conformance run: on the terminal, and in files.
import { existsSync, rmSync, writeFileSync } from "node:fs";
import type { Command } from "commander";
import { colorsOf } from "../../src/colors.ts";
import type { Reported } from "../../src/conformance/report.ts";
import { printable } from "../../src/domain/printable.ts";
import { DomainError, reasonOf } from "../../src/errors.ts";
import { plural } from "../../src/plural.ts";
import { layTable, print, printResult, STDERR, wantsJson } from "./output.ts";

interface Files {
  junit?: string;
  markdown?: string;
}

/** Prints a run, and writes the files that were asked for. @throws DomainError if one can't be written */
export async function printRun(
  url: string,
  run: Reported,
  { junit, markdown }: Files,
  command: Command,
): Promise<void> {
  const { countBySection, describeLeft, describeSkipped, writeExchange, writeJunit, writeMarkdown } = await import(
    "../../src/conformance/report.ts"
  );
  if (junit !== undefined) write(junit, writeJunit(url, run));
  if (markdown !== undefined) write(markdown, writeMarkdown(url, run));
  const results = run.results.map(({ check: { id, says, source, level }, ...rest }) => ({
    id,
    level,
    says,
    source,
    ...rest,
  }));
  const { red, yellow, dim } = colorsOf(process.stdout);
  await printResult(command, { url, ...run, results }, () =>
    [
      ...results
        .filter(({ outcome }) => outcome === "failed")
        .map(({ id, level, says, source, reason, exchanges }) =>
          [
            `${(level === "MUST" ? red : yellow)("failed")} ${id} (${level})`,
            `  ${says}.`,
            `  ${printable(reason)}`,
            `  ${dim(`Source: ${source}`)}`,
            ...exchanges.slice(-1).map((one) => dim(indent(writeExchange(one)))),
            "",
          ].join("\n"),
        ),
      layTable(
        ["CHECKS", "PASSED", "FAILED", "SKIPPED"],
        countBySection(run.results).map((one) => [
          one.section,
          String(one.passed),
          String(one.failed),
          String(one.skipped),
        ]),
        "No checks",
      ),
      ...describeSkipped(run.results).map(printable),
    ].join("\n"),
  );
  if (wantsJson(command)) return;
  await print(`${plural(results.length, "check")}, ${plural(run.requests, "request")}`, STDERR);
  if (run.left !== 0) await print(describeLeft(run.left), STDERR);
}

const indent = (text: string) => text.replace(/^.*$/gm, (line) => `    ${printable(line)}`);

/** @throws DomainError if a report could not be written after the run */
export function requireWritable(file: string): void {
  const isNew = !existsSync(file);
  write(file, "", "a");
  if (isNew) rmSync(file);
}

function write(file: string, text: string, flag = "w"): void {
  try {
    writeFileSync(file, text, { flag });
  } catch (error) {
    throw new DomainError("invalid", `${file} can't be written: ${reasonOf(error)}`);
  }
}
