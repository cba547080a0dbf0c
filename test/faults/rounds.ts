// Rounds of the fault tests.
import { SEED } from "../support/seed.ts";

/** Whether this is the long run: `npm run test:faults`. */
export const LONG = process.env["PODKEEP_FAULTS"] === "long";

/** The rounds of a test: few by default, more in the long run, or PODKEEP_FAULT_ROUNDS. */
export function rounds(few: number, many: number): number {
  return Number(process.env["PODKEEP_FAULT_ROUNDS"] || (LONG ? many : few));
}

/** Prints a test's figures, which docs/promises.md quotes. */
export function report(what: string, figures: Record<string, number | string>): void {
  const list = Object.entries({ ...figures, seed: SEED }).map(([name, value]) => `${name} ${value}`);
  console.log(`  ${what}: ${list.join(", ")}`);
}

export interface Chance {
  /** A whole number from 0 to `below` - 1. */
  whole(below: number): number;
  pick<T>(list: readonly T[]): T;
}

/** Random numbers that are the same for the same seed (mulberry32). */
export function chance(seed: number): Chance {
  let state = seed >>> 0;
  const whole = (below: number) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
  return {
    whole,
    pick<T>(list: readonly T[]) {
      const one = list[whole(list.length)];
      if (one === undefined) throw new Error("Nothing to pick from");
      return one;
    },
  };
}
