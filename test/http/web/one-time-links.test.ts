// Links that work once, for ten minutes.
import { expect, test } from "bun:test";
import { createOneTimeLinks } from "../../../src/http/web/one-time-links.ts";

const MINUTE = 60_000;

test("a value can be looked for often, and taken once", () => {
  const links = createOneTimeLinks<string>({ now: () => 0 });
  links.put("a", "value");
  expect([links.get("a"), links.get("a")]).toEqual(["value", "value"]);
  expect([links.take("a"), links.take("a"), links.get("a")]).toEqual(["value", undefined, undefined]);
});

test("after ten minutes it is gone", () => {
  let now = 0;
  const links = createOneTimeLinks<string>({ now: () => now });
  links.put("a", "value");
  now = 10 * MINUTE - 1;
  expect(links.get("a")).toBe("value");
  now = 10 * MINUTE;
  expect(links.take("a")).toBeUndefined();
});

test("the oldest go first if there are too many", () => {
  const links = createOneTimeLinks<number>({ now: () => 0 });
  for (let n = 0; n <= 1000; n++) links.put(String(n), n);
  expect([links.get("0"), links.get("1"), links.get("1000")]).toEqual([undefined, 1, 1000]);
});
