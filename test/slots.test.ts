// Jobs of which a few run at a time.
import { expect, test } from "bun:test";
import { Slots } from "../src/slots.ts";

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
  await expect(jobs[1]).rejects.toThrow("failed");
  expect([begun, slots.waiting]).toEqual([[0, 1, 2], 2]);
  for (const [number, { resolve }] of ends.entries()) resolve(number);
  expect(await Promise.allSettled(jobs)).toHaveLength(5);
  expect([begun, slots.waiting]).toEqual([[0, 1, 2, 3, 4], 0]);
});
