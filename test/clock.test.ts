// Which wall times the timestamps of changes follow.
import { expect, test } from "bun:test";
import { latestFor } from "../src/clock.ts";

const YEAR = 365 * 24 * 60 * 60 * 1000;

test("timestamps follow clocks until ten years after the build", () => {
  expect(latestFor("2027-01-01")).toBe(Date.parse("2027-01-01") + 10 * YEAR);
});

test("a build that was made while the clock was in 1970 gives present timestamps", () => {
  expect(latestFor("1970-01-01")).toBeGreaterThan(Date.parse("2035-01-01"));
});
