// The model test: the server answers random histories exactly as the oracle does, and replicas never miss a change.
import { setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { openTestApp, type TestUser } from "../support/app.ts";
import { PATIENCE, WAIT } from "../support/patience.ts";
import { history } from "./commands.ts";
import { examples } from "./examples.ts";
import { historyOf } from "./history.ts";
import { type App, play } from "./play.ts";
import type { Client } from "./world.ts";

setDefaultTimeout(PATIENCE);

const numRuns = Number(process.env.PODKEEP_MODEL_RUNS ?? 200);

async function openModelApp(): Promise<App> {
  const test = await openTestApp();
  return Object.assign(test, { historyOf: (user: Client) => historyOf(test, user as TestUser) });
}

async function playHistories(): Promise<void> {
  const property = fc.asyncProperty(history, (steps) => play(openModelApp, steps));
  await fc.assert(property, { numRuns, examples, timeout: WAIT });
}

test("the server answers random histories as the oracle does", playHistories, PATIENCE + numRuns * 100);
