// Jobs of which a few run at a time.
import { expect, test } from "bun:test";
import { Slots } from "../src/slots.ts";
import { settle } from "./support/rejection.ts";

test("few jobs run at a time, the others in their order, and one that fails keeps no place", async () => {
  const slots = new Slots(2);
  const begun: number[] = [];
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<number>());
  const jobs = ends.map(({ promise }, number) =>
    slots.run(() => {
      begun.push(number);
      return promise;
    }),
  );
  expect([begun, slots.waiting]).toEqual([[0, 1], 3]);
  ends[1]?.reject(new Error("failed"));
  expect(await settle(Promise.resolve(jobs[1]))).toThrow("failed");
  expect([begun, slots.waiting]).toEqual([[0, 1, 2], 2]);
  for (const [number, { resolve }] of ends.entries()) resolve(number);
  expect(await Promise.allSettled(jobs)).toHaveLength(5);
  expect([begun, slots.waiting]).toEqual([[0, 1, 2, 3, 4], 0]);
});

test("one user's jobs, however many, don't keep another user's waiting", async () => {
  const slots = new Slots(1);
  const begun: string[] = [];
  const run = (name: string, user: number) =>
    slots.run(async () => {
      begun.push(name);
    }, user);
  await Promise.all([run("a1", 1), run("a2", 1), run("a3", 1), run("a4", 1), run("b1", 2), run("c1", 3), run("b2", 2)]);
  expect(begun).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
});

test("a user whose jobs run one by one leaves the other places to others", async () => {
  const slots = new Slots(2, 1);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const run = async (name: string, user: number) =>
    slots.run(() => {
      begun.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    }, user);
  const jobs = [run("a1", 1), run("a2", 1), run("b1", 2), run("b2", 2), run("c1", 3)];
  expect(begun).toEqual(["a1", "b1"]);
  for (const name of ["b1", "b2", "a1", "a2", "c1"]) {
    ends.get(name)?.();
    await Bun.sleep(0);
  }
  await Promise.all(jobs);
  expect(begun).toEqual(["a1", "b1", "b2", "c1", "a2"]);
});

test("a user who may have two jobs at a time never has a third, whether jobs waited before or not", async () => {
  const slots = new Slots(3, 2);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (name: string) =>
    slots.run(() => {
      begun.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    }, 1);
  const jobs = ["a", "b", "c"].map(run);
  expect(begun).toEqual(["a", "b"]);
  ends.get("a")?.();
  await jobs[0];
  expect(begun).toEqual(["a", "b", "c"]);
  jobs.push(run("d"));
  expect(begun).toEqual(["a", "b", "c"]);
  for (const name of ["b", "c", "d"]) {
    ends.get(name)?.();
    await Bun.sleep(0);
  }
  await Promise.all(jobs);
  expect(begun).toEqual(["a", "b", "c", "d"]);
});
