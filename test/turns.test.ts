// Turns of the event loop.
import { expect, test } from "bun:test";
import { createSharedTurn, LONGEST_TURN, mapInTurns, nextTurn } from "../src/turns.ts";

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

test("requests of one turn begin together, and a later one waits for no earlier turn's work", async () => {
  const begin = createSharedTurn();
  const steps: string[] = [];
  const run = async (name: string) => {
    await begin();
    steps.push(`${name} begins`);
    await null;
    steps.push(`${name} ends`);
  };
  const first = [run("a"), run("b")];
  expect(steps).toEqual([]);
  await Promise.all(first);
  expect(steps).toEqual(["a begins", "b begins", "a ends", "b ends"]);
  const later = run("c");
  await nextTurn();
  await later;
  expect(steps.slice(4)).toEqual(["c begins", "c ends"]);
});
