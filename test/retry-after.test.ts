// How long a server asks its clients to wait.
import { expect, test } from "bun:test";
import { readRetryAfter } from "../src/retry-after.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");

test.each([
  ["0", 0],
  ["120", 120_000],
  ["999999999", 999_999_999_000],
  ["Thu, 01 Jan 2026 00:02:00 GMT", 120_000],
  ["Thursday, 01-Jan-26 00:02:00 GMT", 120_000],
  ["Thu Jan  1 00:02:00 2026 GMT", 120_000],
  ["Wed, 31 Dec 2025 23:59:00 GMT", 0],
])("a server that says Retry-After: %s is left alone for so long", (text, milliseconds) => {
  expect(readRetryAfter(text, NOW)).toBe(milliseconds);
});

test.each([undefined, null, "", "soon", "-1", "1.5", "120s", "s120", "1e9", "9999999999", "2027-01-01", "Thu, 99 Foo"])(
  "a server that says Retry-After: %s does not say how long",
  (text) => {
    expect(readRetryAfter(text, NOW)).toBeNull();
  },
);
