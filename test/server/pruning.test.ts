// What is deleted after a time, by a clock that may be wrong.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { preparePruning } from "../../src/server/pruning.ts";
import { openTestApp, type TestApp } from "../support/app.ts";

const DAY = 86_400_000;
const YEARS = 10 * 365 * DAY;

let podkeep: TestApp;
beforeEach(async () => {
  podkeep = await openTestApp({ history_keep: "30d" });
  const ann = await podkeep.user("ann");
  await ann.add("https://old.test/rss");
  podkeep.clock.advance(20 * DAY);
  await ann.add("https://new.test/rss");
});
afterEach(() => podkeep.close());

const kept = async () => (await podkeep.sql("select feed_url from history order by changed_at")).length;

test("history that is too old is deleted", async () => {
  const prune = preparePruning(podkeep.app);
  podkeep.clock.advance(11 * DAY);
  await prune();
  expect(await kept()).toBe(2);
  await prune();
  expect(await kept()).toBe(1);
});

test("a clock that is years ahead deletes nothing if it is set right before the next time", async () => {
  podkeep.clock.advance(YEARS);
  const prune = preparePruning(podkeep.app);
  podkeep.clock.advance(-YEARS);
  await prune();
  podkeep.clock.advance(YEARS);
  await prune();
  podkeep.clock.advance(-YEARS);
  await prune();
  expect(await kept()).toBe(2);
});
