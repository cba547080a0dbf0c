// Days by the visitor's zone.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { Calendar } from "../../src/domain/zoned-days.ts";

const HOUR = 3_600_000;
const hoursOf = (zone: string, day: string) => {
  const { from, to } = Calendar.of(zone).spanOf(day);
  return (to - from) / HOUR;
};

test("a day has 23 or 25 hours when clocks change", () => {
  expect(hoursOf("Europe/Berlin", "2026-03-29")).toBe(23);
  expect(hoursOf("Europe/Berlin", "2026-10-25")).toBe(25);
  expect(hoursOf("Europe/Berlin", "2026-03-30")).toBe(24);
});

test("a day without a midnight begins with its first minute", () => {
  const { from } = Calendar.of("America/Sao_Paulo").spanOf("2018-11-04");
  expect(new Date(from).toISOString()).toBe("2018-11-04T03:00:00.000Z");
});

test("a day that a zone left out has no hours", () => {
  expect(hoursOf("Pacific/Apia", "2011-12-30")).toBe(0);
});

test.each(["", "Mars/Olympus", "../../etc/passwd", "x".repeat(1000), undefined])("the zone %p is UTC", (zone) => {
  expect(Calendar.of(zone).zone).toBe("UTC");
});

test("each time is in the span of its day and of one month of its year", () => {
  const zones = fc.constantFrom(
    "UTC",
    "Asia/Kathmandu",
    "America/New_York",
    "Pacific/Kiritimati",
    "Australia/Lord_Howe",
  );
  const times = fc.integer({ min: Date.parse("1990-01-01"), max: Date.parse("2060-01-01") });
  fc.assert(
    fc.property(zones, times, (zone, ms) => {
      const calendar = Calendar.of(zone);
      const spans = [calendar.spanOf(calendar.dayOf(ms)), ...calendar.monthsOf(calendar.yearOf(ms))];
      expect(spans.filter(({ from, to }) => from <= ms && ms < to)).toHaveLength(2);
    }),
    { numRuns: 50 },
  );
});
