// The ports that tests give to other programs.
import { expect, test } from "bun:test";
import { freePort } from "./free-port.ts";

test("no port is given to two tests, though neither has bound it yet", async () => {
  const range = { first: 31_000, count: 800 };
  const given = new Set<number>();
  for (let n = 0; n < 100; n++) given.add(await freePort(range));
  expect(given.size).toBe(100);
});
