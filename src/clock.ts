// Time and randomness, handed in so that tests can bring their own.
import { statSync } from "node:fs";
import { build } from "./version.ts";

export interface Clock {
  /** Wall time in Unix milliseconds; may jump in either direction. */
  now(): number;
  /** Waits for some milliseconds. */
  sleep(milliseconds: number): Promise<void>;
}

export interface Ids {
  /** `length` random characters of RFC 4648 base32 in lower case, 5 bits each. */
  random(length: number): string;
}

export const systemClock: Clock = { now: () => Date.now(), sleep: (milliseconds) => Bun.sleep(milliseconds) };

const DAY = 24 * 60 * 60 * 1000;
/** Milliseconds after its build in which a program is expected to be used: five years. */
const EXPECTED = 5 * 365 * DAY;
/** Milliseconds after its build for which a program is used at most: a later time is from a clock that is wrong. */
const LIFE = 2 * EXPECTED;
/** No build is older: the clock that dated it may have been wrong too. */
const OLDEST_BUILD = Date.UTC(2026, 0);

/** The day of the build; 0 if the program runs from source. */
const BUILT = build ? Date.parse(build.date) : 0;

/** How a wall time differs from what the build lets expect; null if it may be right. @param built Unix milliseconds */
export function compareWithBuild(now: number, built = BUILT): "before" | "years after" | null {
  if (now < built) return "before";
  return built > 0 && now > built + EXPECTED ? "years after" : null;
}

/** Weeks before the last second of 32 bits, which is all that Kasts reads: it would ask for the same again and again. */
const LAST = Date.UTC(2038, 0);

/** The latest wall time that timestamps follow. @param built when the program was built, in Unix milliseconds */
export const latestFor = (built: number): number => Math.min(Math.max(built, OLDEST_BUILD) + LIFE, LAST);

/** Source is as old as the last release that was fetched. */
const fetchedAt = () => statSync(new URL("../package.json", import.meta.url)).mtime.getTime();

const LATEST = latestFor(BUILT || fetchedAt());

/** Whether a wall time may be right. An earlier one than the build is that of a computer that has just started. */
export const mayBeRight = (now: number): boolean => now >= Math.max(BUILT, OLDEST_BUILD);

/** Wall time as far as timestamps follow it. They never go back. */
export const timeForChanges = (now: number): number => Math.min(now, LATEST);

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

/** A character for the low 5 bits of each byte. */
export const base32 = (bytes: Uint8Array) => Array.from(bytes, (byte) => ALPHABET.charAt(byte & 31)).join("");

export const systemIds: Ids = {
  random: (length) => base32(crypto.getRandomValues(new Uint8Array(length))),
};
