// Turns of the event loop.
import { expect, test } from "bun:test";
import { LONGEST_TURN, mapInTurns } from "../src/turns.ts";

test("others get turns while a long list is mapped, and the result is in its order", async () => {
  let turns = 0;
  let ended = false;
  const count = () => {
    turns++;
    if (!ended) setImmediate(count);
  };
  setImmediate(count);
  const work = (item: number) => {
    const end = performance.now() + LONGEST_TURN + 1;
    while (performance.now() < end);
    return item * 2;
  };
  expect(await mapInTurns([1, 2, 3, 4, 5], work)).toEqual([2, 4, 6, 8, 10]);
  ended = true;
  expect(turns).toBeGreaterThanOrEqual(4);
});
