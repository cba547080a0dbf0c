// Guides on a narrow terminal.
import { expect, test } from "bun:test";
import { Glob } from "bun";
import { reflow } from "../../../cli/terminal/reflow.ts";

test("paragraphs and list items fit the terminal", () => {
  expect(reflow("one two\nthree four\n\n- five six\n  seven", 10)).toBe("one two\nthree four\n\n- five six\n  seven");
  expect(reflow("- five six seven", 10)).toBe("- five six\n  seven");
});

test("a table that is too wide becomes a list", () => {
  const table = "| name | is |\n|---|---|\n| one | a number |\n";
  expect(reflow(table, 80)).toBe(table.trim());
  expect(reflow(table, 12)).toBe("- one: a\n  number");
});

test("every command of the guides stays as it is, also in list items", async () => {
  const root = new URL("../../../docs/", import.meta.url).pathname;
  for (const file of new Glob("**/*.md").scanSync(root)) {
    const text = await Bun.file(root + file).text();
    const lines = reflow(text, 40).split("\n");
    for (const [, block = ""] of text.matchAll(/^ *```.*\n([\s\S]*?)\n *```$/gm)) {
      for (const line of block.split("\n")) expect(lines).toContain(line);
    }
  }
});
