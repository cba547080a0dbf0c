// Files that are written whole or not at all, by an account that may not do everything.
import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { replaceFile } from "../src/replace-file.ts";

const isRoot = process.getuid?.() === 0;
const ACCOUNT = 54321;

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "podkeep-replace-"));
  file = join(folder, "ann.opml");
  writeFileSync(file, "before");
});
afterEach(() => rmSync(folder, { recursive: true }));

test.skipIf(!isRoot).each([
  ["a file, but nothing beside it", ACCOUNT, 0o755],
  ["another account's file, and beside it", 0, 0o777],
])("an account that may write %s, replaces what is in it", (_, owner, mode) => {
  chownSync(file, owner, owner);
  chmodSync(file, 0o666);
  chmodSync(folder, mode);
  process.seteuid?.(ACCOUNT);
  try {
    replaceFile(file, "after", 0o600);
  } finally {
    process.seteuid?.(0);
  }
  expect(readFileSync(file, "utf8")).toBe("after");
  expect(statSync(file).uid).toBe(owner);
  expect(readdirSync(folder)).toEqual(["ann.opml"]);
});

test.skipIf(!isRoot)(
  "what links to a device, as systemctl mask links a unit to /dev/null, leaves the device as it is",
  () => {
    const device = join(folder, "null");
    expect(Bun.spawnSync(["mknod", device, "c", "1", "3"]).exitCode).toBe(0);
    rmSync(file);
    symlinkSync(device, file);
    replaceFile(file, "after", 0o600);
    expect(statSync(device).isCharacterDevice()).toBe(true);
    expect(readdirSync(folder).sort()).toEqual(["ann.opml", "null"]);
  },
);

test("a file has the mode that it needs with any umask, such as a unit that systemd reads", () => {
  const mode = 0o640;
  const umask = process.umask(0o077);
  try {
    replaceFile(file, "after", mode);
  } finally {
    process.umask(umask);
  }
  expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual(["after", mode]);
});

test("a file of the same name with .new after it stays as it is, and so does what a link of that name leads to", () => {
  const other = join(folder, "other");
  writeFileSync(other, "mine");
  for (const make of [() => writeFileSync(`${file}.new`, "mine"), () => symlinkSync(other, `${file}.new`)]) {
    make();
    replaceFile(file, "after", 0o600);
    expect([readFileSync(file, "utf8"), readFileSync(`${file}.new`, "utf8")]).toEqual(["after", "mine"]);
    rmSync(`${file}.new`);
  }
  expect(readdirSync(folder).sort()).toEqual(["ann.opml", "other"]);
});
