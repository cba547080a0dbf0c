// The data of the benchmarks.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fill } from "../../bench/data.ts";

test("a benchmark can have more users than may wait to be written", async () => {
  const folder = mkdtempSync(join(tmpdir(), "podkeep-bench-"));
  const { tokens } = await fill(folder, { users: 1100, subscriptions: 1 });
  expect(new Set(tokens).size).toBe(1100);
  rmSync(folder, { recursive: true });
});
