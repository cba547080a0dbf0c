// Paths in the service's list of directories that it may write to.
import { expect, test } from "bun:test";
import { readPathList, wordOf } from "../../src/systemd/path-list.ts";

test("the doctor's line for a disk with a space in its name lets the service write there", () => {
  expect(wordOf("-/media/ann/USB STICK")).toBe('"-/media/ann/USB STICK"');
  expect(wordOf("-/mnt/100%")).toBe("-/mnt/100%%");
  expect(wordOf("-/mnt/backup")).toBe("-/mnt/backup");
});

test("the doctor knows a disk with a space in its name that the service may write to", () => {
  // As systemd 252 prints them.
  expect(readPathList('"-/media/ann/USB STICK" -/mnt/backup +/srv')).toEqual([
    "/media/ann/USB STICK",
    "/mnt/backup",
    "/srv",
  ]);
  expect(readPathList('"-/mnt/a \\"b\\""')).toEqual(['/mnt/a "b"']);
  expect(readPathList("")).toEqual([]);
});
