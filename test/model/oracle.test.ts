// The oracle alone: random histories keep the promises that no single rule states.
import { setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { PATIENCE } from "../support/patience.ts";
import { history } from "./commands.ts";
import { examples } from "./examples.ts";
import { openFakeApp } from "./fake.ts";
import { play } from "./play.ts";

setDefaultTimeout(PATIENCE);

test("replicas, timestamps and repeated writes agree with the rules", async () => {
  const property = fc.asyncProperty(history, (steps) => play(openFakeApp, steps));
  await fc.assert(property, { numRuns: Number(process.env.PODKEEP_MODEL_RUNS ?? 150), examples });
});
