// Sizes of files and disks, for people.
import { expect, test } from "bun:test";
import { describeSize } from "../src/file-size.ts";

test.each([
  [0, "0 KiB"],
  [4096, "4 KiB"],
  [999 * 1024, "999 KiB"],
  [1000 * 1024, "1 MiB"],
  [50 * 1024 ** 2, "50 MiB"],
  [195_757 * 1024, "191.2 MiB"],
  [65_761 * 1024 ** 2, "64.2 GiB"],
  [3 * 1024 ** 4, "3 TiB"],
  [5000 * 1024 ** 4, "5000 TiB"],
])("people read %d bytes as %s", (bytes, text) => {
  expect(describeSize(bytes)).toBe(text);
});
