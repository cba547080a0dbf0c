// Tables of settings in the documents, and how to start from source.
import { expect, test } from "bun:test";
import { CHECKS_DOCUMENT, pathOf, TABLES, withChecks, withSettings } from "../scripts/readme.ts";
import { VERSION } from "../src/version.ts";

test.each(Object.entries(TABLES))(
  "the settings in %s are those of the program; `bun scripts/readme.ts` writes them",
  async (document, names) => {
    const text = await Bun.file(pathOf(document)).text();
    expect(text).toContain(`| \`PODKEEP_PORT\` | \`8042\` |`);
    expect(text).toBe(withSettings(text, names));
  },
);

test("the checks in docs/conformance.md are those of the program; `bun scripts/readme.ts` writes them", async () => {
  const text = await Bun.file(pathOf(CHECKS_DOCUMENT)).text();
  expect(text).toContain("| `openpodcast/page/next-loses-nothing` | MUST |");
  expect(text).toBe(withChecks(text));
});

test.each([
  ["npm", ["npm", "run", "podkeep", "--", "--version"]],
  ["bun", [process.execPath, "run", "podkeep", "--version"]],
])("podkeep runs from its source by %s", async (_name, command) => {
  const child = Bun.spawn(command, { cwd: new URL("..", import.meta.url).pathname, stdout: "pipe", stderr: "pipe" });
  expect(await child.stdout.text()).toContain(VERSION);
  expect(await child.exited).toBe(0);
});
