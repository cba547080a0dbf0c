// The table of results.

export interface Line {
  what: string;
  /** podkeep's median. */
  podkeep: number;
  /** The baseline's median; null if the goal is absolute. */
  baseline: number | null;
  /** Unit of both medians. */
  unit: "requests/s" | "µs" | "ms" | "s" | "KB" | "MB";
  /** Of the ratio, if there is a baseline and the goal is not in the unit. */
  goal: { least: number } | { most: number; inUnit?: boolean };
  /** Processor time of a request in microseconds, of podkeep and of the baseline. */
  processor?: { podkeep: number; baseline: number };
}

/** The figure that is compared with the goal: the ratio to the baseline, or podkeep's median. */
export const figureOf = (line: Line) => (isAbsolute(line) ? line.podkeep : ratioOf(line));

const isAbsolute = ({ baseline, goal }: Line) => baseline === null || ("most" in goal && goal.inUnit === true);
const ratioOf = ({ podkeep, baseline }: Line) => podkeep / (baseline ?? Number.NaN);

export function isMet(line: Line): boolean {
  return "least" in line.goal ? figureOf(line) >= line.goal.least : figureOf(line) <= line.goal.most;
}

/** The lines as a Markdown table; µs is the processor time of a request. */
export function formatTable(lines: Line[]): string {
  const head = ["what", "podkeep", "baseline", "ratio", "goal", "met", "podkeep µs", "baseline µs"];
  const rows = lines.map((line) => {
    const { what, podkeep, baseline, unit, goal, processor } = line;
    const limit = "least" in goal ? `at least ${goal.least}` : `at most ${goal.most}`;
    return [
      what,
      `${round(podkeep)} ${unit}`,
      baseline === null ? "" : `${round(baseline)} ${unit}`,
      baseline === null || baseline === 0 ? "" : round(ratioOf(line)),
      isAbsolute(line) ? `${limit} ${unit}` : limit,
      isMet(line) ? "yes" : "**no**",
      processor ? round(processor.podkeep) : "",
      processor ? round(processor.baseline) : "",
    ];
  });
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const print = (row: string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [print(head), print(widths.map((width) => "-".repeat(width))), ...rows.map(print)].join("\n");
}

function round(value: number): string {
  if (value === 0) return "0";
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(value < 1 ? 2 : 3);
}
