// The table of results.

export interface Line {
  what: string;
  /** podkeep's median. */
  podkeep: number;
  /** The baseline's median; null if there is none. */
  baseline: number | null;
  /** Unit of both medians; µs are processor time of a request. */
  unit: "requests/s" | "µs" | "ms" | "s" | "KB" | "MB";
  goal: Goal;
  /** Processor time of a request in microseconds, of podkeep and of the baseline. */
  processor?: { podkeep: number; baseline: number };
}

/** Of the ratio to the baseline, or of podkeep's median if there is none, unless `of` names another figure. */
export type Goal = { least: number } | { most: number; of?: "podkeep" | "processor" };

/** The figure that is compared with the goal. */
export function figureOf({ podkeep, baseline, goal, processor }: Line): number {
  const of = "of" in goal ? goal.of : undefined;
  if (of === "processor") return processor?.podkeep ?? Number.NaN;
  return baseline === null || of === "podkeep" ? podkeep : podkeep / baseline;
}

export function isMet(line: Line): boolean {
  return "least" in line.goal ? figureOf(line) >= line.goal.least : figureOf(line) <= line.goal.most;
}

const HEAD = ["what", "podkeep µs", "baseline µs", "podkeep", "baseline", "ratio", "goal", "met"];

/** The lines as a Markdown table; µs is the processor time of a request. */
export function formatTable(lines: Line[]): string {
  const rows = lines.map((line) => {
    const { what, podkeep, baseline, unit } = line;
    const isTime = unit === "µs";
    const { processor = isTime ? { podkeep, baseline } : undefined } = line;
    const inUnit = (value: number | null) => (isTime || value === null ? "" : `${round(value)} ${unit}`);
    return [
      what,
      processor ? round(processor.podkeep) : "",
      processor?.baseline ? round(processor.baseline) : "",
      inUnit(podkeep),
      inUnit(baseline),
      baseline ? round(podkeep / baseline) : "",
      describeGoal(line),
      isMet(line) ? "yes" : "**no**",
    ];
  });
  const widths = HEAD.map((_, column) => Math.max(...[HEAD, ...rows].map((row) => row[column]?.length ?? 0)));
  const print = (row: string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [print(HEAD), print(widths.map((width) => "-".repeat(width))), ...rows.map(print)].join("\n");
}

function describeGoal({ baseline, unit, goal }: Line): string {
  if ("least" in goal) return `at least ${goal.least}`;
  if (goal.of === "processor") return `at most ${goal.most} µs`;
  return `at most ${goal.most}${baseline === null || goal.of === "podkeep" ? ` ${unit}` : ""}`;
}

function round(value: number): string {
  if (value === 0) return "0";
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(value < 1 ? 2 : 3);
}
