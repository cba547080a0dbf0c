// A bare clone: npm installs what the commands need, with any NODE_ENV.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VERSION } from "../../src/version.ts";
import { PATIENCE } from "../support/patience.ts";
import { must, type Ran, run } from "./debian.ts";

setDefaultTimeout(PATIENCE);

const ROOT = join(import.meta.dir, "../..");
const clone = mkdtempSync(join(tmpdir(), "podkeep-clone-"));

beforeAll(() => {
  must(["sh", "-c", `git -C "$0" ls-files -z | tar -C "$0" -cz --null -T - | tar -xz -C "$1"`, ROOT, clone]);
});
afterAll(() => rmSync(clone, { recursive: true, force: true }));

/** Runs npm in the clone, as from a shell with nothing but NODE_ENV. */
function npm(...words: string[]): Ran {
  const path = (process.env["PATH"] ?? "").split(":").filter((part) => !part.includes("node_modules"));
  const env = {
    PATH: path.join(":"),
    HOME: process.env["HOME"],
    NODE_ENV: "production",
    npm_config_prefer_offline: "true",
  };
  return run(["env", "-C", clone, "npm", ...words], "", env);
}

const INSTALLING = "Installing the dependencies";
const hasTestTools = () => existsSync(join(clone, "node_modules/.bin/tsc"));

test("on a 32-bit system it says what podkeep needs, and installs nothing", () => {
  const arm = join(clone, "arm.cjs");
  writeFileSync(arm, 'Object.defineProperty(process, "arch", { value: "arm" });');
  const { code, err } = run(["env", "-C", clone, `NODE_OPTIONS=--require=${arm}`, "npm", "start"], "", process.env);
  expect([code, err]).toEqual([1, expect.stringContaining("is for arm. On a Raspberry Pi install the 64-bit edition")]);
  expect(existsSync(join(clone, "node_modules"))).toBe(false);
});

test("if npm runs no install scripts, it says how Bun gets its own", () => {
  const { code, err } = npm("start", "--ignore-scripts");
  const [, advice = ""] = /(npm rebuild .*)/.exec(err) ?? [];
  expect([code, advice]).toEqual([1, "npm rebuild --ignore-scripts=false"]);
  expect(npm(...advice.split(" ").slice(1)).code).toBe(0);
  expect(npm("run", "-s", "--ignore-scripts", "podkeep", "--", "--version").out).toContain(VERSION);
  rmSync(join(clone, "node_modules"), { recursive: true });
});

test("after an installation that was killed, the next command installs again", () => {
  // As npm leaves it before it runs the packages' scripts.
  must(["env", "-C", clone, "npm", "ci", "--omit=dev", "--ignore-scripts", "--prefer-offline"]);
  rmSync(join(clone, "node_modules/.package-lock.json"));
  expect(npm("run", "-s", "podkeep", "--", "--version").out).toContain(VERSION);
  rmSync(join(clone, "node_modules"), { recursive: true });
});

test("with NODE_ENV=production the first command says that it installs, and runs", () => {
  const first = npm("run", "-s", "podkeep", "--", "--version");
  expect(first).toMatchObject({ code: 0, out: expect.stringContaining(VERSION) });
  expect(first.err).toContain(INSTALLING);
  expect(hasTestTools()).toBe(false);
  expect(npm("run", "-s", "podkeep", "--", "--version").err).not.toContain(INSTALLING);
});

test("tests and checks install their tools, which the program's commands then leave there", () => {
  expect(npm("run", "-s", "ready").code).toBe(0);
  expect(hasTestTools()).toBe(true);
  const later = npm("run", "-s", "podkeep", "--", "--version");
  expect([later.code, later.err.includes(INSTALLING), hasTestTools()]).toEqual([0, false, true]);
});

test("after an npm install that left out the tools, the next test installs them", () => {
  expect(npm("install", "--no-audit", "--no-fund").code).toBe(0);
  expect(hasTestTools()).toBe(false);
  // npm only says what it would install: the test before this one has seen it install.
  const { code, err } = npm("run", "-s", "--dry-run", "ready");
  expect([code, err]).toEqual([1, expect.stringMatching(/^Installing the dependencies.*^add typescript /ms)]);
});
