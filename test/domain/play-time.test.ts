// Positions as people write them.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { clockOf, parseClock } from "../../src/domain/play-time.ts";

test.each([
  ["90", 90],
  ["20:00", 1200],
  ["90:00", 5400],
  ["1:02:03", 3723],
  ["0:05", 5],
  ["0:75:30", 4530],
  // As feeds write the length of an episode.
  ["00:75:30", 4530],
])("the position %s is %d seconds", (text, seconds) => {
  expect(parseClock(text)).toBe(seconds);
});

test.each(["", "x", "-1", "1:60", "1:60:00", "1:2", ":20", "1:2:03", "20:00 ", "1.5", "1:00:00:00", "99999999"])(
  "%p is no position",
  (text) => {
    expect(parseClock(text)).toBeNull();
  },
);

test("each position that is written is read as the same", () => {
  fc.assert(fc.property(fc.nat(9999 * 3600), (seconds) => parseClock(clockOf(seconds)) === seconds));
});
