// The model test: the server answers random histories exactly as the oracle does, and replicas never miss a change.
import { test } from "bun:test";
import fc from "fast-check";
import { listHistory, listSubscribedAt, restoreSubscriptions } from "../../src/services/history.ts";
import { openTestApp, type TestUser } from "../support/app.ts";
import { actorOf } from "../support/feeds.ts";
import { history } from "./commands.ts";
import { examples } from "./examples.ts";
import { type App, play } from "./play.ts";
import type { Client, History } from "./world.ts";

const numRuns = Number(process.env.PODKEEP_MODEL_RUNS ?? 200);
const seed = Number(process.env.PODKEEP_MODEL_SEED ?? Date.now() % 2 ** 31);

async function openModelApp(): Promise<App> {
  const test = await openTestApp();
  const historyOf = (user: Client): History => {
    const actor = actorOf((user as TestUser).id);
    return {
      feedsAt: async (before) =>
        (await listSubscribedAt(test.app, actor, { before })).map(({ feed_url }) => feed_url).sort(),
      restore: async (before) => {
        await restoreSubscriptions(test.app, actor, { before }, { exact: true, dry_run: false });
      },
      changes: async () => (await listHistory(test.app, actor, { limit: 10_000 })).toReversed(),
    };
  };
  return Object.assign(test, { historyOf });
}

async function playHistories(): Promise<void> {
  console.log(`PODKEEP_MODEL_SEED=${seed} PODKEEP_MODEL_RUNS=${numRuns}`);
  const property = fc.asyncProperty(history, (steps) => play(openModelApp, steps));
  await fc.assert(property, { numRuns, seed, examples, timeout: 30_000 });
}

test("the server answers random histories as the oracle does", playHistories, 300_000 + numRuns * 100);
