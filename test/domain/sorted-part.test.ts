// A part of a sorted list is what sorting all of it gives.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { sortedPart } from "../../src/domain/sorted-part.ts";

test("any part of any list is the same as if all were sorted, equal items in their order", () => {
  const item = fc.record({ key: fc.nat(50), id: fc.nat() });
  const compare = (a: { key: number }, b: { key: number }) => a.key - b.key;
  fc.assert(
    fc.property(fc.array(item, { maxLength: 400, size: "max" }), fc.nat(450), fc.nat(150), (items, from, count) => {
      const copy = structuredClone(items);
      expect(sortedPart(items, compare, from, from + count)).toEqual(items.toSorted(compare).slice(from, from + count));
      expect(items).toEqual(copy);
    }),
  );
});

test("a page of a long list takes a few comparisons of each item", () => {
  const items = Array.from({ length: 10_000 }, (_, n) => (n * 7919) % 10_000);
  let compared = 0;
  const compare = (a: number, b: number) => {
    compared++;
    return a - b;
  };
  const runs = 20;
  for (let run = 0; run < runs; run++) sortedPart(items, compare, 5000, 5100);
  expect(compared / runs).toBeLessThan(60_000);
});
