// JSON arrays that are read while they arrive.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseArray, readElements } from "../../src/http/json-elements.ts";
import { settle } from "../support/rejection.ts";

async function* split(bytes: Uint8Array, size: number) {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function elementsOf(text: string, size = 7, most = 10_000): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const one of readElements(split(Buffer.from(text), size), most)) found.push(one);
  return found;
}

test("an array in chunks of any size is read as JSON.parse() reads it", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.jsonValue()),
      fc.nat(2),
      fc.integer({ min: 1, max: 40 }),
      async (list, indent, size) => {
        const text = JSON.stringify(list, null, indent);
        expect(await elementsOf(text, size)).toEqual(JSON.parse(text));
      },
    ),
  );
});

test("an array with a bit of text put in or taken out is read or refused as by JSON.parse()", async () => {
  const bits = fc.constantFrom("", ",", "[", "]", "{", "}", '"', "\\", " ", "1", ":");
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue()), fc.nat(), bits, fc.nat(1), async (list, place, bit, taken) => {
      const whole = JSON.stringify(list);
      const at = place % (whole.length + 1);
      const text = whole.slice(0, at) + bit + whole.slice(at + taken);
      let parsed: unknown;
      try {
        parsed = JSON.parse(text);
      } catch {}
      if (Array.isArray(parsed)) {
        expect(await elementsOf(text)).toEqual(parsed);
        expect(parseArray(Buffer.from(text), 10_000)).toEqual(parsed);
      } else {
        expect(await settle(elementsOf(text))).toThrow("could not be read");
        expect(() => parseArray(Buffer.from(text), 10_000)).toThrow("could not be read");
      }
    }),
    { numRuns: 1000 },
  );
});

test("a byte order mark is no part of the array, and what is no array is refused", async () => {
  expect(await elementsOf("\ufeff [1]")).toEqual([1]);
  expect(parseArray(Buffer.from("\ufeff [1]"), 10)).toEqual([1]);
  for (const text of ["", "{}", "1", '"[]"', "[", "[1", "[1]]", "[1}", "[,]", "[1,]", "[1 2]", "[]x"]) {
    expect(await settle(elementsOf(text))).toThrow("could not be read");
  }
});

test("an element that is too long is left out, and too many values are refused", async () => {
  expect(await elementsOf(JSON.stringify([1, "x".repeat(2_000_000), 2]), 65_536)).toEqual([1, undefined, 2]);
  const many = JSON.stringify(Array(20).fill([1]));
  expect(await settle(elementsOf(many, 7, 30))).toThrow("More than 30 JSON values");
  expect(() => parseArray(Buffer.from(many), 30)).toThrow("More than 30 JSON values");
});

test("more different names than any app sends are refused before they are parsed, and the same ones never", async () => {
  const names = (count: number) => Array.from({ length: 20_000 }, (_, n) => ({ [`name ${n % count}`]: "a:b", id: n }));
  const [few, many] = [names(500), names(2000)].map((list) => JSON.stringify(list));
  expect(await elementsOf(few ?? "", 65_536, 100_000)).toHaveLength(20_000);
  expect(parseArray(Buffer.from(few ?? ""), 100_000)).toHaveLength(20_000);
  expect(await settle(elementsOf(many ?? "", 65_536, 100_000))).toThrow("More than 1000 names");
  expect(() => parseArray(Buffer.from(many ?? ""), 100_000)).toThrow("More than 1000 names");
});
