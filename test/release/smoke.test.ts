// The smoke test that a release runs.
import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { PATIENCE } from "../support/patience.ts";

setDefaultTimeout(PATIENCE);

test("the smoke test uses data of its own, also for those whose settings name a database", () => {
  const [script, program] = ["scripts/smoke.ts", "cli/main.ts"].map((file) => join(import.meta.dir, "../..", file));
  const words = [process.execPath, String(script), process.execPath, String(program)];
  const env = { ...process.env, PODKEEP_DATABASE_URL: "postgres://127.0.0.1:1/theirs", PODKEEP_HOST: "0.0.0.0" };
  const { exitCode, stdout, stderr } = Bun.spawnSync(words, { env });
  expect([exitCode, String(stderr)]).toEqual([0, ""]);
  expect(String(stdout)).toEndWith("ok  stops\n");
});
