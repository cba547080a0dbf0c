// Limits of failed logins: counted in windows of time, for a bounded number of networks and user names.
import type { Clock } from "../clock.ts";
import { networkOf } from "../domain/networks.ts";
import { foldName, isUserName } from "../domain/user-name.ts";
import { DomainError } from "../errors.ts";
import type { Attempts } from "../services/password-checker.ts";

/** Milliseconds. */
const ADDRESS_WINDOW = 60_000;
const USER_WINDOW = 15 * 60_000;
/** Wrong passwords that a user may have in each window, from all addresses together. */
const USER_LIMIT = 30;
const MOST_KEYS = 10_000;
/** Failures after which further passwords are tried later and later. */
const FREE_FAILURES = 5;
/** Milliseconds. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 2000;

export interface Throttle {
  /** Counts a failure of an address, or of the /64 of an IPv6 address. Returns 0, or the seconds until the address may fail again. */
  fail(address: string): number;
  /** Limits the passwords that an address tries. */
  attemptsFrom(address: string): Attempts;
}

/** @param limit failures that an address may have in each minute */
export function createThrottle(clock: Clock, limit: number): Throttle {
  const addresses = createWindows(clock, ADDRESS_WINDOW);
  const users = createWindows(clock, USER_WINDOW);
  const fail = (address: string) => {
    if (isLoopback(address)) return 0;
    const window = addresses.find(networkOf(address));
    window.count++;
    return window.count > limit ? addresses.secondsLeft(window) : 0;
  };
  return {
    fail,
    attemptsFrom: (address) => ({
      fail() {
        const wait = fail(address);
        if (wait > 0) throw tooMany(wait);
      },
      async begin(name) {
        const ofUser = users.find(isUserName(name) ? foldName(name) : "");
        if (ofUser.count >= USER_LIMIT) throw tooMany(users.secondsLeft(ofUser));
        const counted = [ofUser];
        if (!isLoopback(address)) {
          const ofAddress = addresses.find(networkOf(address));
          if (ofAddress.count >= limit) throw tooMany(addresses.secondsLeft(ofAddress));
          counted.push(ofAddress);
        }
        const pause = pauseAfter(Math.max(...counted.map(({ count }) => count)));
        for (const window of counted) window.count++;
        if (pause > 0) await clock.sleep(pause);
        return () => {
          for (const window of counted) window.count--;
        };
      },
    }),
  };
}

const tooMany = (retry_after: number) => new DomainError("too_many", "Too many failed logins", { retry_after });

const pauseAfter = (failures: number) =>
  failures < FREE_FAILURES ? 0 : Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (failures - FREE_FAILURES));

interface Window {
  start: number;
  count: number;
}

/** Counts by key. @param length of a window in milliseconds */
function createWindows(clock: Clock, length: number) {
  const windows = new Map<string, Window>();
  return {
    /** The present window of a key; begins one if the last has passed. */
    find(key: string): Window {
      const now = clock.now();
      const known = windows.get(key);
      if (known && now - known.start < length && now >= known.start) return known;
      windows.delete(key);
      if (windows.size >= MOST_KEYS) windows.delete(windows.keys().next().value ?? "");
      const window = { start: now, count: 0 };
      windows.set(key, window);
      return window;
    },
    secondsLeft: ({ start }: Window) => Math.max(1, Math.ceil((start + length - clock.now()) / 1000)),
  };
}

const isLoopback = (address: string) => address === "" || address === "::1" || address.startsWith("127.");
