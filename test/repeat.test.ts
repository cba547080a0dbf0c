// Work that is done again and again while the server runs.
import { expect, test } from "bun:test";
import { repeat } from "../src/repeat.ts";
import { until } from "./support/patience.ts";

/** Milliseconds that no test takes. */
const NEVER = 1_000_000_000;

/** Lets timers run that are due. */
const timersRun = () => Bun.sleep(5);

test("work waits for its first time, and is not done at all if it is ended before", async () => {
  let done = 0;
  const begin = (first: number) => repeat(async () => void done++, { first, pause: NEVER, failed: () => {} });
  const end = begin(NEVER);
  await begin(1)();
  await timersRun();
  await end();
  expect(done).toBe(0);
});

test("work that fails is reported, and done again", async () => {
  const failures: unknown[] = [];
  let done = 0;
  const work = async () => {
    done++;
    throw new Error(`failure ${done}`);
  };
  const end = repeat(work, { first: 0, pause: 0, failed: (error) => failures.push(error) });
  await until(() => done >= 3);
  await end();
  expect(failures.slice(0, 2)).toEqual([new Error("failure 1"), new Error("failure 2")]);
});

test("a server that ends waits for work in progress, and does it no more", async () => {
  let begun = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const work = () => {
    begun++;
    return promise;
  };
  const end = repeat(work, { first: 0, pause: 0, failed: () => {} });
  await until(() => begun > 0);
  let ended = false;
  const ending = end().then(() => {
    ended = true;
  });
  await timersRun();
  expect(ended).toBe(false);
  resolve();
  await ending;
  await timersRun();
  expect(begun).toBe(1);
});

test("after work that was done there is a pause", async () => {
  let done = 0;
  const end = repeat(async () => void done++, { first: 0, pause: NEVER, failed: () => {} });
  await until(() => done > 0);
  await timersRun();
  expect(done).toBe(1);
  await end();
});
