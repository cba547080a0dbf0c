// Waiting for a limited time.
import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { within } from "../src/within.ts";
import { rejectionOf } from "./support/rejection.ts";

/** Milliseconds that no test takes. */
const NEVER = 1_000_000_000;

const never = new Promise<string>(() => {});

test("what comes in time is given, its failure too, and nothing is given after the time", async () => {
  const inTime = Bun.sleep(20).then(() => "in time");
  expect(await within(NEVER, inTime)).toBe("in time");
  expect(await rejectionOf(within(NEVER, Promise.reject(new Error("failed"))))).toEqual(new Error("failed"));
  expect(await within(1, never)).toBeNull();
});

test("after what came in time, no timer keeps the server in memory or from its end", async () => {
  const timers = () => {
    Bun.gc(true);
    return heapStats().objectTypeCounts["Timeout"] ?? 0;
  };
  const before = timers();
  for (let n = 0; n < 100; n++) await within(NEVER, Promise.resolve(n));
  expect(timers() - before).toBeLessThan(50);
});
