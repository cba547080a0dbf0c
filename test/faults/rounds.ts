// Rounds of the fault tests.
import fc from "fast-check";
import { SEED } from "../support/seed.ts";

/** Whether this is the long run: `npm run test:faults`. */
export const LONG = process.env["PODKEEP_FAULTS"] === "long";

/** Whether the run is long; the rounds that are asked for; and the seconds after which a test begins none of the many. */
const ENV = {
  long: LONG,
  asked: Number(process.env["PODKEEP_FAULT_ROUNDS"] || 0),
  seconds: Number(process.env["PODKEEP_FAULT_SECONDS"] || Infinity),
};

/** The rounds of a test, to iterate over; several tests of a file can, one after the other. */
export interface Rounds extends Iterable<number> {
  most: number;
  done: number;
}

/** Few rounds by default; in the long run many, as far as there is time. */
export function countRounds(few: number, many: number, { long, asked, seconds } = ENV): Rounds {
  const most = asked || (long ? many : few);
  return {
    most,
    done: 0,
    *[Symbol.iterator]() {
      const end = performance.now() + seconds * 1000;
      this.done = 0;
      while (this.done < most && (this.done < few || performance.now() < end)) yield this.done++;
    },
  };
}

/** Checks a property with `cases` random cases in each round. @returns how many that were */
export async function checkRounds<Values>(
  property: fc.IAsyncProperty<Values>,
  cases: number,
  rounds: Rounds,
): Promise<number> {
  for (const round of rounds) await fc.assert(property, { numRuns: cases, seed: SEED + round, endOnFailure: true });
  return cases * rounds.done;
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
