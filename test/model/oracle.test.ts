// The oracle alone: random histories keep the promises that no single rule states.
import { test } from "bun:test";
import fc from "fast-check";
import { history } from "./commands.ts";
import { examples } from "./examples.ts";
import { openFakeApp } from "./fake.ts";
import { play } from "./play.ts";

test("replicas, timestamps and repeated writes agree with the rules", async () => {
  const property = fc.asyncProperty(history, (steps) => play(openFakeApp, steps));
  await fc.assert(property, { numRuns: Number(process.env.PODKEEP_MODEL_RUNS ?? 150), examples });
}, 300_000);
