// Reports of a run: JUnit for CI, Markdown for an issue.
import { plural } from "../plural.ts";
import type { Account } from "./account.ts";
import { sectionOf } from "./check.ts";
import type { Exchange } from "./prober.ts";
import type { Result, Run } from "./suite.ts";

/** A run, and the protocols that could not be checked. */
export interface Reported extends Run {
  unchecked: Account[];
}

interface Section {
  section: string;
  results: Result[];
  passed: number;
  failed: number;
  skipped: number;
}

/** Counts by protocol and subject, in the order of the checks. */
export const countBySection = (results: readonly Result[]): Section[] =>
  [...Map.groupBy(results, ({ check }) => sectionOf(check))].map(([section, some]) => {
    const count = (outcome: Result["outcome"]) => some.filter((one) => one.outcome === outcome).length;
    return { section, results: some, passed: count("passed"), failed: count("failed"), skipped: count("skipped") };
  });

/** Why checks were skipped, one line for each reason. */
export const describeSkipped = (results: readonly Result[]): string[] => {
  const skipped = results.filter(({ outcome }) => outcome === "skipped");
  return [...Map.groupBy(skipped, ({ reason }) => reason)].map(([reason, some]) => `${some.length} skipped: ${reason}`);
};

/** What a run could not remove, for who has to do it. @param left not 0 */
export function describeLeft(left: Run["left"]): string {
  if (left === null) return "What the run added may still be there: its list can't be read";
  if (left === 1) return "1 subscription that the run added is still there: the server did not remove it";
  return `${left} subscriptions that the run added are still there: the server did not remove them`;
}

/** Characters of a report; an issue on GitHub takes 65,536. */
const LONGEST = 60_000;
/** Characters of one failure's requests and responses, the last ones. */
const LONGEST_PROOF = 20_000;
/** Characters of a reason in the list of what has no room for its requests. */
const LONGEST_REASON = 100;

/** A report to paste into an issue: counts, then the failures, with requests and responses as far as there is room. */
export function writeMarkdown(url: string, { results, ended, left, unchecked }: Reported): string {
  const rows = countBySection(results).map(
    ({ section, passed, failed, skipped }) => `| ${section} | ${passed} | ${failed} | ${skipped} |`,
  );
  const failures = results.filter(({ outcome }) => outcome === "failed");
  const start = [
    `# Conformance of ${url}`,
    ...(ended === null ? [] : [`The run ended early: ${escapeMarkdown(ended)}`]),
    ...(left === 0 ? [] : [describeLeft(left)]),
    ...unchecked.map(({ protocol, reason }) => `Not checked, ${protocol}: ${escapeMarkdown(reason)}`),
    ["| checks | passed | failed | skipped |", "|---|---|---|---|", ...rows].join("\n"),
    ...describeSkipped(results).map(escapeMarkdown),
  ];
  return [...start, ...describeFailures(failures, LONGEST - sizeOf(start)), ""].join("\n\n");
}

const sizeOf = (parts: string[]) => parts.reduce((size, part) => size + part.length + 2, 0);

/** The first failures in full, because one mistake can fail several checks; what has no room as a list. */
function describeFailures(failures: Result[], room: number): string[] {
  const lines = failures.map(({ check: { id, level }, reason }) => {
    return `- \`${id}\` (${level}): ${escapeMarkdown(clip(reason, LONGEST_REASON))}`;
  });
  const whole: string[] = [];
  for (const [index, failure] of failures.entries()) {
    const next = describeFailure(failure);
    if (sizeOf([...whole, next, ...lines.slice(index + 1)]) > room) break;
    whole.push(next);
  }
  const rest = lines.slice(whole.length);
  if (rest.length === 0) return whole;
  const advice = "Their requests and responses are in the reports of `--junit` and `--json`.";
  return [...whole, `## ${rest.length} more`, advice, rest.join("\n")];
}

function describeFailure({ check, reason, exchanges }: Result): string {
  const { id, level, says, source } = check;
  const facts = [`${level}: ${says}.`, `Source: ${source}.`, `**${escapeMarkdown(clip(reason, 1000))}**`].join("\n\n");
  const proof = exchanges.map(writeExchange);
  let first = proof.length;
  for (let size = 0; first > 0; first--) {
    size += sizeOf(proof.slice(first - 1, first));
    if (size > LONGEST_PROOF && first < proof.length) break;
  }
  const left = first === 0 ? [] : [`(${plural(first, "earlier request")})`];
  return `## ${id}\n\n${facts}\n\n${fence([...left, ...proof.slice(first)].join("\n\n"))}`;
}

const clip = (text: string, length: number) => (text.length > length ? `${text.slice(0, length)}...` : text);

const escapeMarkdown = (text: string) => text.replace(/[*_`<>[\]\\]/g, "\\$&");

/** A code block that its text can't end. */
function fence(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const ticks = "`".repeat(longest + 1);
  return `${ticks}http\n${text}\n${ticks}`;
}

const writeHeaders = (headers: Record<string, string>) =>
  Object.entries(headers).flatMap(([name, value]) => value.split("\n").map((line) => `${name}: ${line}`));

/** One request and its response, as text. */
export function writeExchange({ request, response }: Exchange): string {
  const { method, url, headers, body } = request;
  const sent = [`${method} ${url}`, ...writeHeaders(headers), ...(body === null ? [] : ["", body])];
  const received = response
    ? [`${response.status}`, ...writeHeaders(response.headers), ...(response.body === "" ? [] : ["", response.body])]
    : ["(no response)"];
  return [...sent, "", ...received].join("\n");
}

/** A report that CI servers read (JUnit's XML). */
export function writeJunit(url: string, { results, ended, unchecked }: Reported): string {
  const suites = countBySection(results).map(({ section, results: some, failed, skipped }) => {
    const counts = `tests="${some.length}" failures="${failed}" skipped="${skipped}"`;
    return `  <testsuite name="${escapeXml(section)}" ${counts}>\n${some.map(writeCase).join("\n")}\n  </testsuite>`;
  });
  const skipped = unchecked.map(({ protocol, reason, is_broken }) => {
    const [element, count] = is_broken ? ["error", "errors"] : ["skipped", "skipped"];
    const one = `<testcase name="${protocol}"><${element} message="Not checked: ${escapeXml(reason)}"/></testcase>`;
    return `  <testsuite name="${protocol}" tests="1" ${count}="1">${one}</testsuite>`;
  });
  const errors = (ended === null ? [] : [ended]).map((reason) => {
    const one = `<testcase name="run"><error message="${escapeXml(reason)}"/></testcase>`;
    return `  <testsuite name="run" tests="1" errors="1">${one}</testsuite>`;
  });
  const [start, end] = [`<testsuites name="${escapeXml(url)}">`, "</testsuites>\n"];
  return ['<?xml version="1.0" encoding="UTF-8"?>', start, ...suites, ...skipped, ...errors, end].join("\n");
}

function writeCase({ check, outcome, reason, exchanges }: Result): string {
  const start = `    <testcase classname="${escapeXml(sectionOf(check))}" name="${escapeXml(check.id)}"`;
  if (outcome === "passed") return `${start}/>`;
  if (outcome === "skipped") return `${start}><skipped message="${escapeXml(reason)}"/></testcase>`;
  const details = escapeXml(exchanges.map(writeExchange).join("\n\n"));
  return `${start}><failure type="${check.level}" message="${escapeXml(reason)}">${details}</failure></testcase>`;
}

/** Characters that XML 1.0 can't hold are left out. */
const escapeXml = (text: string) =>
  text
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML refuses
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")
    .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
