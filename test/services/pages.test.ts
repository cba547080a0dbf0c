// What is read a page at a time: the same as from one statement, wherever a page ends.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { actAsUser } from "../../src/services/actor.ts";
import { countFeeds } from "../../src/services/device-list.ts";
import { PAGE } from "../../src/store/rows.ts";
import { openTestApp, type TestApp } from "../support/app.ts";
import { PATIENCE } from "../support/patience.ts";

setDefaultTimeout(PATIENCE);

let podkeep: TestApp;
beforeAll(async () => {
  podkeep = await openTestApp();
});
afterAll(() => podkeep.close());

/** Inserts one row for each number from 1. */
const insertMany = (count: number, into: string, values: string) =>
  podkeep.sql(`insert into ${into} with recursive n(n) as (select 1 union all select n + 1 from n where n < ${count})
    select ${values} from n`);

const SUBSCRIPTION = "user_id, id, feed_url, guid, is_subscribed, subscription_changed, changed_at, deleted";

/** A user with podcasts of which a third is unsubscribed, and a fifth deleted. */
async function userWith(podcasts: number): Promise<number> {
  const { id } = await podkeep.user();
  await insertMany(
    podcasts,
    `subscriptions (${SUBSCRIPTION})`,
    `${id}, n, 'https://a.example/' || n, 'guid' || n, case when n % 3 = 0 then 0 else 1 end, n, n,
      case when n % 5 = 0 then n end`,
  );
  return id;
}

test.each([PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 2 * PAGE + 1])(
  "of %d podcasts, the subscribed ones are counted",
  async (count) => {
    const user_id = await userWith(count);
    const subscribed = Array.from({ length: count }, (_, n) => n + 1).filter((n) => n % 3 !== 0 && n % 5 !== 0);
    expect(await countFeeds(podkeep.app, actAsUser(user_id))).toBe(subscribed.length);
  },
);
