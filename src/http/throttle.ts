// How many failed logins an address may have: counted in one-minute windows, for a bounded number of addresses.
import type { Clock } from "../clock.ts";

const WINDOW = 60_000;
const MOST_ADDRESSES = 10_000;

export interface Throttle {
  /** Counts a failure. Returns 0, or the seconds until the address may fail again. */
  fail(address: string): number;
}

/** @param limit failures that an address may have in each window */
export function createThrottle(clock: Clock, limit: number): Throttle {
  const failures = new Map<string, { start: number; count: number }>();
  return {
    fail(address) {
      if (isLoopback(address)) return 0;
      const now = clock.now();
      let window = failures.get(address);
      if (!window || now - window.start >= WINDOW || now < window.start) {
        window = { start: now, count: 0 };
        failures.delete(address);
        if (failures.size >= MOST_ADDRESSES) failures.delete(failures.keys().next().value ?? "");
        failures.set(address, window);
      }
      window.count++;
      return window.count > limit ? Math.max(1, Math.ceil((window.start + WINDOW - now) / 1000)) : 0;
    },
  };
}

const isLoopback = (address: string) => address === "" || address === "::1" || address.startsWith("127.");
