// Paths in the service's list of directories that it may write to.
import { expect, test } from "bun:test";
import { readPathList, wordOf } from "../../src/systemd/path-list.ts";

test("the doctor's line for a disk with a space in its name lets the service write there", () => {
  expect(wordOf("-/media/ann/USB STICK")).toBe('"-/media/ann/USB STICK"');
  expect(wordOf("-/mnt/100%")).toBe("-/mnt/100%%");
  expect(wordOf("-/mnt/backup")).toBe("-/mnt/backup");
});

test("and for a disk with quotes, backslashes or percent signs in its name", () => {
  expect(wordOf("-/mnt/it's")).toBe('"-/mnt/it\'s"');
  expect(wordOf('-/mnt/"a"')).toBe('"-/mnt/\\"a\\""');
  expect(wordOf("-/mnt/a\\b\\c")).toBe('"-/mnt/a\\\\b\\\\c"');
  expect(wordOf("-/mnt/5%/10%")).toBe("-/mnt/5%%/10%%");
});

test("the doctor knows a disk with a space in its name that the service may write to", () => {
  // As systemd 252 prints them.
  expect(readPathList('"-/media/ann/USB STICK" -/mnt/backup +/srv -+/mnt/a-b')).toEqual([
    "/media/ann/USB STICK",
    "/mnt/backup",
    "/srv",
    "/mnt/a-b",
  ]);
  expect(readPathList('"-/mnt/a \\"b\\""')).toEqual(['/mnt/a "b"']);
  expect(readPathList("")).toEqual([]);
});
