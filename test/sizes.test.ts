// Sizes of files, disks and limits, for people.
import { expect, test } from "bun:test";
import { describeSize } from "../src/sizes.ts";

test.each([
  [0, "0 KB"],
  [4096, "4 KB"],
  [999 * 1024, "999 KB"],
  [1000 * 1024, "1 MB"],
  [50 * 1024 ** 2, "50 MB"],
  [195_757 * 1024, "191.2 MB"],
  [65_761 * 1024 ** 2, "64.2 GB"],
  [3 * 1024 ** 4, "3 TB"],
  [5000 * 1024 ** 4, "5000 TB"],
])("people read %d bytes as %s", (bytes, text) => {
  expect(describeSize(bytes)).toBe(text);
});
