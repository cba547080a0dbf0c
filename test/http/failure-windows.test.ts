// Failures are counted for a bounded number of keys, and no count that has reached its limit is lost.
import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { createWindows } from "../../src/http/failure-windows.ts";

const LIMIT = 3;
let now = 0;
const windows = () => createWindows({ now: () => now, sleep: async () => {} }, 1000, LIMIT);

test("a flood of keys with few failures replaces neither full windows nor those with more failures", () => {
  const counted = windows();
  for (let n = 0; n < LIMIT; n++) counted.count("full");
  for (let n = 0; n < LIMIT - 1; n++) counted.count("almost");
  for (let n = 0; n < 30_000; n++) counted.count(`key ${n}`);
  expect([counted.failures("full"), counted.failures("almost"), counted.failures("key 0")]).toEqual([3, 2, 0]);
});

test("windows that have passed make room first, and a key is counted again then", () => {
  const counted = windows();
  for (let n = 0; n < 10_000; n++) for (let times = 0; times < LIMIT; times++) counted.count(`old ${n}`);
  expect([counted.count("new"), counted.failures("new")]).toEqual([1, 0]);
  now += 1000;
  expect([counted.count("new"), counted.failures("new"), counted.failures("old 0")]).toEqual([1, 1, 0]);
});

test("windows that have passed make room before any that has not", () => {
  const counted = windows();
  for (let n = 0; n < 5000; n++) for (let times = 0; times < LIMIT; times++) counted.count(`old ${n}`);
  now += 500;
  for (let n = 0; n < 5000; n++) counted.count(`present ${n}`);
  now += 500;
  expect([counted.count("new"), counted.failures("new"), counted.failures("present 0")]).toEqual([1, 1, 1]);
});

test("a client that waits for as long as it is told is let in", () => {
  const counted = windows();
  counted.count("key");
  now += counted.secondsLeft("key") * 1000;
  expect(counted.failures("key")).toBe(0);
});

test("a failure for another key resets no count, however long after the start", () => {
  const counted = windows();
  now += 5000;
  for (const key of ["a", "a", "b"]) counted.count(key);
  expect([counted.failures("a"), counted.failures("b")]).toEqual([2, 1]);
});

test("what an attack left behind is forgotten at the first failure after its windows", () => {
  const counted = windows();
  for (let n = 0; n < 9000; n++) counted.count(`attacker ${n}`);
  Bun.gc(true);
  const { objectCount } = heapStats();
  now += 1000;
  counted.count("somebody");
  Bun.gc(true);
  expect(objectCount - heapStats().objectCount).toBeGreaterThan(8000);
});

test("asking for a key, and taking back what is not counted, leaves nothing", () => {
  const counted = windows();
  counted.takeBack("key");
  expect([counted.failures("key"), counted.secondsLeft("key")]).toEqual([0, 1]);
  counted.count("key");
  counted.takeBack("key");
  counted.takeBack("key");
  expect(counted.failures("key")).toBe(0);
});

test("no client has to wait for longer than a window, also if the clock goes back meanwhile", () => {
  const years = 10 * 365 * 86_400_000;
  for (let readings = 0; readings < 4; readings++) {
    let left = Number.POSITIVE_INFINITY;
    const counted = createWindows({ now: () => (left-- > 0 ? years : 0), sleep: async () => {} }, 60_000, LIMIT);
    counted.count("key");
    left = readings;
    expect(counted.secondsLeft("key")).toBeWithin(1, 61);
  }
});
