// Guides on a narrow terminal.
import { expect, test } from "bun:test";
import { Glob } from "bun";
import { layGuide } from "../../../cli/terminal/guide.ts";

const lay = (markdown: string, columns: number, colors = false) =>
  layGuide(markdown, {
    columns,
    colors,
    commandFor: (name) => (name === "a.md" ? "podkeep help a" : undefined),
  });

test("paragraphs, list items and the cells of tables fit the terminal", () => {
  expect(lay("one two\nthree four", 10)).toBe("one two\nthree four");
  expect(lay("- five six seven", 12)).toBe("* five six\n    seven");
  const table = lay("| name | is |\n|---|---|\n| one | a long number |\n", 20);
  for (const line of table.split("\n")) expect(line.length).toBeLessThanOrEqual(20);
});

test("colours are those of the terminal's own palette, so that code can be read on light and dark ones", () => {
  const text = lay("run `podkeep` and `more of it`", 16, true);
  expect(text).toContain("\u001b[36mpodkeep");
  expect(text).not.toMatch(/\[[34]8;/);
});

test("a link is followed by the command that prints its target, or its URL, or nothing", () => {
  expect(lay("[one](a.md#x), [two](../b.md), [three](#x), [four](https://c.test)", 100)).toBe(
    "one (podkeep help a), two, three, four (https://c.test)",
  );
});

test("every command of the guides stays as it is, also in list items", async () => {
  const root = new URL("../../../docs/", import.meta.url).pathname;
  for (const file of new Glob("**/*.md").scanSync(root)) {
    const text = await Bun.file(root + file).text();
    const lines = new Set(
      lay(text, 40)
        .split("\n")
        .map((line) => line.trim()),
    );
    for (const [, block = ""] of text.matchAll(/^ *```.*\n([\s\S]*?)\n *```$/gm)) {
      for (const line of block.split("\n")) expect(lines).toContain(line.trim());
    }
  }
});
