// The table of results: what was measured, the goal, and whether it was met.

export interface Line {
  what: string;
  /** podkeep's median. */
  podkeep: number;
  /** The yardstick's median; null where the goal stands by itself. */
  yardstick: number | null;
  /** Of both medians. */
  unit: "requests/s" | "ms" | "s" | "MB";
  goal: { least: number } | { most: number };
}

/** What the goal is compared with: the ratio to the yardstick, or podkeep's own figure where there is none. */
export const figureOf = ({ podkeep, yardstick }: Line) => (yardstick === null ? podkeep : podkeep / yardstick);

export function isMet(line: Line): boolean {
  return "least" in line.goal ? figureOf(line) >= line.goal.least : figureOf(line) <= line.goal.most;
}

/** The lines as a Markdown table. */
export function formatTable(lines: Line[]): string {
  const head = ["what", "podkeep", "yardstick", "ratio", "goal", "met"];
  const rows = lines.map((line) => {
    const { what, podkeep, yardstick, unit, goal } = line;
    const limit = "least" in goal ? `at least ${goal.least}` : `at most ${goal.most}`;
    return [
      what,
      `${round(podkeep)} ${unit}`,
      yardstick === null ? "" : `${round(yardstick)} ${unit}`,
      yardstick === null ? "" : round(figureOf(line)),
      yardstick === null ? `${limit} ${unit}` : limit,
      isMet(line) ? "yes" : "**no**",
    ];
  });
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const print = (row: string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [print(head), print(widths.map((width) => "-".repeat(width))), ...rows.map(print)].join("\n");
}

function round(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(value < 1 ? 2 : 3);
}
