// Write transactions that the database runs more than once.
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Database } from "../../src/db/database.ts";
import { actAsUser } from "../../src/services/actor.ts";
import { transact } from "../../src/services/transact.ts";
import { openTestApp, START, type TestApp } from "../support/app.ts";
import { withMethods } from "../support/with-methods.ts";

let podkeep: TestApp;
beforeEach(async () => {
  podkeep = await openTestApp();
});
afterEach(() => podkeep.close());

test("what follows a commit happens once, also if the transaction is repeated after a conflict", async () => {
  const { app } = podkeep;
  const { id } = await podkeep.user();
  let runs = 0;
  const acts: number[] = [];
  const database: Pick<Database, "write"> = {
    // Runs it again, as after a conflict.
    async write(work, key) {
      await app.database.write((tx) => work(tx), key);
      return app.database.write((tx) => work(tx), key);
    },
  };
  await transact({ ...app, database: withMethods(app.database, database) }, actAsUser(id), async (user) => {
    const run = ++runs;
    user.afterCommit(() => acts.push(run));
  });
  expect(runs).toBe(2);
  expect(acts).toEqual([2]);
});

test("a change is not dated before its wall time, though the user's clock was moved on before it", async () => {
  const { id } = await podkeep.user();
  const [first, second] = await transact(podkeep.app, actAsUser(id), async (user) => {
    user.moveClock(1000);
    return [user.nextTimestamp(), user.nextTimestamp()];
  });
  expect([first, second]).toEqual([START, START + 1]);
});
