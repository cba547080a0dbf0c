// The README tells the truth about settings.
import { expect, test } from "bun:test";
import { withSettings } from "../scripts/readme.ts";

test("the table of settings is the one that config.ts says; `bun scripts/readme.ts` writes it anew", async () => {
  const readme = await Bun.file(new URL("../README.md", import.meta.url)).text();
  expect(readme).toBe(withSettings(readme));
});
