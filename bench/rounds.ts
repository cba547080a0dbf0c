// Rounds: every side is measured once a round; the median of all rounds counts.
import type { Programs } from "./programs.ts";

export interface Bench {
  programs: Programs;
  /** Directory for the databases. */
  folder: string;
  rounds: number;
  seconds: number;
  /** Directory of the source of oPodSync, which is then measured too. */
  opodsync?: string | undefined;
}

/** Runs all sides in turn, `rounds` times. Returns each side's median. */
export async function inTurn<Side extends string>(
  rounds: number,
  sides: Record<Side, () => Promise<number>>,
): Promise<Record<Side, number>> {
  const names = Object.keys(sides) as Side[];
  const figures = names.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, name] of names.entries()) figures[index]?.push(await sides[name]());
  }
  return Object.fromEntries(names.map((name, index) => [name, median(figures[index] ?? [])])) as Record<Side, number>;
}

export function median(figures: number[]): number {
  return percentile(figures, 50);
}

export function percentile(figures: number[], percent: number): number {
  const sorted = figures.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}
