// Counts over all users: others get turns of the event loop while they are read.

import { expect, test } from "bun:test";
import { deleteUser } from "../../src/services/accounts/user-deletion.ts";
import { readStatus } from "../../src/services/status.ts";
import { guidOf, openTestApp } from "../support/app.ts";
import { countTurns } from "../support/turns.ts";

test("counting the rows of more than a thousand users counts each once, and takes a turn of the event loop for each fifty of them", async () => {
  const podkeep = await openTestApp();
  await podkeep.sql(`insert into users (public_id, name, clock, last_subscription, last_deletion, created_at, name_key, history_since)
    with recursive n(n) as (select 1 union all select n + 1 from n where n < 1001)
    select 'user' || n, 'user' || n, 0, 1, 0, 0, 'user' || n, 0 from n`);
  await podkeep.sql(`insert into subscriptions (user_id, id, feed_url, guid, is_subscribed, subscription_changed, changed_at)
    select id, 1, 'https://a.example/', id, 1, 1, 1 from users`);
  await podkeep.sql(`insert into deletions (user_id, id, subscription, status, cancelled, attempts, requested_at, run_after)
    select id, 1, 1, 'PENDING', 0, 0, 0, 0 from users`);
  const { turns, result } = await countTurns(() => readStatus(podkeep.app));
  expect(result).toMatchObject({
    users: 1001,
    subscriptions: 1001,
    deletions: { PENDING: 1001 },
  });
  expect(turns).toBeGreaterThanOrEqual(20);
  await podkeep.close();
});

test("counts that were made before are right after each change, and only changed users are counted again", async () => {
  const podkeep = await openTestApp();
  const [ann, bob] = [await podkeep.user("ann"), await podkeep.user("bob")];
  await ann.add("https://a.example/1", guidOf(1));
  await bob.add("https://b.example/1", guidOf(2));
  let { counts } = await readStatus(podkeep.app);
  const count = async () => {
    const status = await readStatus(podkeep.app, counts);
    counts = status.counts;
    return status.subscriptions;
  };
  await podkeep.sql("update subscriptions set is_subscribed = 0");
  expect(await count()).toBe(2);
  await podkeep.sql("update subscriptions set is_subscribed = 1");
  await ann.add("https://a.example/2", guidOf(3));
  expect(await count()).toBe(3);
  await ann.request("PATCH", `/subscriptions/${guidOf(1)}`, { is_subscribed: false });
  expect(await count()).toBe(2);
  await ann.remove(guidOf(3));
  await podkeep.drain();
  expect(await count()).toBe(1);
  await deleteUser(podkeep.app, "ann");
  expect(await count()).toBe(1);
  await podkeep.close();
});
