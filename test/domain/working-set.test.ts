// Working sets: their work grows in proportion to what a transaction changes.
import { expect, test } from "bun:test";
import { describeChanges } from "../../src/domain/history.ts";
import { addFeed, changeFeed } from "../../src/domain/subscription-rules.ts";
import { type StoredRows, WorkingSet } from "../../src/domain/working-set.ts";
import { guidOf } from "../support/app.ts";
import { validFeed } from "../support/feed-url.ts";

/** As many as would take a minute if each change looked at all others. */
const MANY = 30_000;

const feedOf = (name: string, n: number) => validFeed(`https://${name}.example/${n}`);

/** Subscriptions 1 to MANY, whose feeds are a/N and whose guids are guidOf(N). */
function createSet(more: Partial<StoredRows> = {}): WorkingSet {
  const all = Array.from({ length: MANY }, (_, index) => index + 1);
  let [clock, last] = [1_000_000, MANY];
  return new WorkingSet(
    {
      subscriptions: all.map((id) => ({
        id,
        feed_url: feedOf("a", id).feed_url,
        guid: guidOf(id),
        is_subscribed: true,
        subscription_changed: id,
        guid_changed: null,
        deleted: null,
        title: null,
      })),
      guids: all.map((id) => ({ guid: guidOf(id), subscription: id, retired_at: null })),
      feeds: all.map((id) => ({ feed: feedOf("a", id).hash, subscription: id, left_url: null, left_at: null })),
      pending: [],
      ...more,
    },
    { nextTimestamp: () => ++clock, nextSubscription: () => ++last },
  );
}

/** Everything that is saved of a working set. */
const save = (set: WorkingSet) => ({
  merged: set.merged().map(({ id }) => id),
  guids: set.changedGuids(),
  feeds: set.changedFeeds(),
  respelled: set.respelled(),
  history: describeChanges(set),
});

test("each of many subscriptions is merged into the next one", () => {
  const set = createSet();
  for (let n = 1; n < MANY; n++) addFeed(set, feedOf("a", n), guidOf(n + 1));
  const { merged, guids, feeds, history } = save(set);
  expect([merged.length, guids.length, feeds.length]).toEqual([MANY - 1, MANY - 1, MANY]);
  expect(new Set([...guids, ...feeds].map((row) => row.subscription))).toEqual(new Set([MANY]));
  expect(history.filter(({ what }) => what === "merged").length).toBe(MANY - 1);
  expect(set.byGuid(guidOf(1))).toBe(set.byFeed(feedOf("a", MANY).hash));
});

test("many deletions are cancelled, and no feed counts as respelled", () => {
  const set = createSet({
    pending: Array.from({ length: MANY }, (_, index) => ({ id: index, subscription: index + 1 })),
  });
  for (let n = 1; n <= MANY; n++) addFeed(set, feedOf("a", n), null);
  const { history, respelled } = save(set);
  expect(history.filter(({ what }) => what === "kept").length).toBe(MANY);
  expect(respelled).toEqual([]);
});

test("many subscriptions get guids on URLs that they left, and spellings that others had", () => {
  const left = Array.from({ length: MANY }, (_, index) => ({
    feed: feedOf("b", index + 1).hash,
    subscription: index + 1,
    left_url: `http://b.example/${index + 1}`,
    left_at: 1,
  }));
  const set = createSet({ feeds: left });
  for (let n = 1; n <= MANY; n++) addFeed(set, feedOf("b", n), guidOf(n + MANY));
  expect(save(set).history.filter(({ what }) => what === "guid_added").length).toBe(MANY);
  const moved = createSet({ feeds: left });
  for (const one of moved.all()) changeFeed(moved, one, feedOf("b", one.id));
  expect(save(moved).respelled.length).toBe(MANY);
  expect(moved.leftBefore(feedOf("b", MANY).hash)?.left_at).toBe(1);
});
