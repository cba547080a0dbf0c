// Turns of the event loop.
import { expect, test } from "bun:test";
import { beginTogether, filterInTurns, LONGEST_TURN, mapInTurns, nextTurn } from "../src/turns.ts";
import { countTurns } from "./support/turns.ts";

test("others get turns while a long list is mapped, and the result is in its order", async () => {
  const work = (item: number) => {
    const end = performance.now() + LONGEST_TURN + 1;
    while (performance.now() < end);
    return item * 2;
  };
  const { turns, result } = await countTurns(() => mapInTurns([1, 2, 3, 4, 5], work));
  expect(result).toEqual([2, 4, 6, 8, 10]);
  expect(turns).toBeGreaterThanOrEqual(4);
});

test("others get turns while a long list is filtered, and the result is whole and in its order", async () => {
  const isOdd = (item: number) => {
    const end = performance.now() + LONGEST_TURN + 1;
    while (performance.now() < end);
    return item % 2 === 1;
  };
  const { turns, result } = await countTurns(() => filterInTurns([1, 2, 3, 4, 5], isOdd));
  expect(result).toEqual([1, 3, 5]);
  expect(turns).toBeGreaterThanOrEqual(4);
});

test("requests of one turn run together, before work that gives others a turn goes on", async () => {
  const steps: string[] = [];
  const request = async (name: string) => {
    await beginTogether("");
    steps.push(`${name} begins`);
    await null;
    steps.push(`${name} ends`);
  };
  const work = nextTurn().then(() => steps.push("work goes on"));
  const requests = [request("a"), request("b")];
  expect(steps).toEqual([]);
  await Promise.all([work, ...requests]);
  expect(steps).toEqual(["a begins", "b begins", "a ends", "b ends", "work goes on"]);
});

test("of many requests that arrive together, only some are in memory side by side", async () => {
  let running = 0;
  let most = 0;
  const request = async () => {
    await beginTogether("");
    most = Math.max(most, ++running);
    for (let step = 0; step < 5; step++) await null;
    running--;
  };
  await Promise.all(Array.from({ length: 100 }, request));
  expect(most).toBe(16);
});

test("many requests that arrive together begin in their order, and others get turns before all have begun", async () => {
  const begun: number[] = [];
  const request = async (n: number) => {
    await beginTogether("");
    begun.push(n);
    const end = performance.now() + LONGEST_TURN / 10;
    while (performance.now() < end);
  };
  const count = 100;
  const requests = Array.from({ length: count }, (_, n) => request(n));
  await nextTurn();
  expect(begun.length).toBeLessThan(count);
  await Promise.all(requests);
  expect(begun).toEqual([...Array(count).keys()]);
});

test("requests of which one owner has many don't keep another's waiting for all of them", async () => {
  const begun: string[] = [];
  const request = (owner: string) => beginTogether(owner).then(() => begun.push(owner));
  await Promise.all([...Array.from({ length: 100 }, () => request("a")), request("b")]);
  expect(begun.slice(0, 3)).toEqual(["a", "b", "a"]);
  expect(begun).toHaveLength(101);
});
