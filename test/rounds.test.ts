// Queues in which all who wait take turns.
import { expect, test } from "bun:test";
import { Rounds } from "../src/rounds.ts";

/** A queue of items, each with its owner's letter and its number. */
function queueOf(...names: string[]) {
  const rounds = new Rounds<{ owner: string; name: string }>();
  const itemOf = (name: string) => ({ owner: name.charAt(0), name });
  for (const name of names) rounds.add(itemOf(name));
  const take = () => rounds.take()?.name;
  const takeRest = () => [...Array(rounds.length)].map(take);
  return { rounds, itemOf, take, takeRest };
}

test("what was taken and put back comes before all others, in its order", () => {
  const { rounds, itemOf, take, takeRest } = queueOf("a1", "b1", "a2");
  expect([take(), take(), take()]).toEqual(["a1", "b1", "a2"]);
  for (const name of ["c1", "a3", "b2"]) rounds.add(itemOf(name));
  rounds.putBack(["b1", "a1", "a2"].map(itemOf));
  expect(takeRest()).toEqual(["b1", "a1", "c1", "b2", "a2", "a3"]);
  expect(take()).toBeUndefined();
});

test("what was postponed waits for one turn of each other owner, and its owner's others for it", () => {
  const { rounds, itemOf, take, takeRest } = queueOf("a1", "b1", "a2", "b2");
  expect(take()).toBe("a1");
  rounds.add(itemOf("c1"));
  rounds.postpone(itemOf("a1"));
  expect(takeRest()).toEqual(["b1", "c1", "a1", "b2", "a2"]);
});

test("what is taken at once is no longer in the queue", () => {
  const { rounds, take } = queueOf("a1", "b1", "a2");
  expect(rounds.takeAll().map(({ name }) => name)).toEqual(["a1", "a2", "b1"]);
  expect([rounds.length, take()]).toEqual([0, undefined]);
});
