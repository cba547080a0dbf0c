// How many rounds the fault tests have.
import { expect, test } from "bun:test";
import { countRounds } from "./rounds.ts";

test.each([
  ["has its few rounds by default", 2, { long: false, asked: 0, seconds: 600 }],
  ["has all of its rounds in the long run", 9, { long: true, asked: 0, seconds: Infinity }],
  ["has its few rounds if there is no time for more", 2, { long: true, asked: 0, seconds: 0.001 }],
  ["has all of its rounds if there is time", 9, { long: true, asked: 0, seconds: 600 }],
  ["has as many rounds as are asked for", 4, { long: true, asked: 4, seconds: 600 }],
])("a fault test %s", async (_, count, env) => {
  const rounds = countRounds(2, 9, env);
  const seen: number[] = [];
  for (const round of rounds) {
    seen.push(round);
    await Bun.sleep(2);
  }
  expect(seen).toEqual([...Array(count).keys()]);
  expect(rounds.done).toBe(count);
});

test("every test that shares its rounds has all of them", () => {
  const rounds = countRounds(2, 9, { long: true, asked: 0, seconds: Infinity });
  for (let n = 0; n < 2; n++) expect([[...rounds].length, rounds.done]).toEqual([9, 9]);
});
