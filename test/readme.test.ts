// The README tells the truth about settings and about how to start.
import { expect, test } from "bun:test";
import { withSettings } from "../scripts/readme.ts";
import { VERSION } from "../src/version.ts";

test("the table of settings is the one that config.ts says; `bun scripts/readme.ts` writes it anew", async () => {
  const readme = await Bun.file(new URL("../README.md", import.meta.url)).text();
  expect(readme).toBe(withSettings(readme));
});

test.each([
  ["npm", ["npm", "run", "podkeep", "--", "--version"]],
  ["bun", [process.execPath, "run", "podkeep", "--version"]],
])("podkeep runs from its source by %s", async (_name, command) => {
  const child = Bun.spawn(command, { cwd: new URL("..", import.meta.url).pathname, stdout: "pipe", stderr: "pipe" });
  expect(await child.stdout.text()).toContain(VERSION);
  expect(await child.exited).toBe(0);
});
