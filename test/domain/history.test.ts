// Random changes in memory: the history of all of them, undone, gives every list that there was, and each of these lists
// can be brought back.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type Change,
  describeChanges,
  describeDifference,
  type PastSubscription,
  statusOf,
  undoChanges,
} from "../../src/domain/history.ts";
import { readWanted, restoreList } from "../../src/domain/restore-rules.ts";
import {
  addFeed,
  changeFeed,
  changeGuid,
  changeSubscribed,
  deleteSubscription,
  touchSubscription,
} from "../../src/domain/subscription-rules.ts";
import type { SubscriptionState } from "../../src/domain/subscription-state.ts";
import { type StoredRows, WorkingSet } from "../../src/domain/working-set.ts";
import { validFeed } from "../support/feed-url.ts";

/** The rows, with those of the same key replaced. */
function merged<Row>(rows: Row[], changed: Row[], key: keyof Row): Row[] {
  return [...new Map([...rows, ...changed].map((row) => [row[key], { ...row }])).values()];
}

/** One user's rows in memory. A transaction sees all of them. */
class Memory {
  clock = 0;
  last = 0;
  requested = 0;
  subscriptions: SubscriptionState[] = [];
  guids: StoredRows["guids"] = [];
  feeds: StoredRows["feeds"] = [];
  pending: StoredRows["pending"] = [];
  readonly history: Change[] = [];
  /** Feed URLs that devices may have received, and those that are known as former spellings. */
  readonly received = new Set<string>();
  readonly spellings = new Set<string>();

  change(work: (set: WorkingSet) => void): Change[] {
    const set = new WorkingSet(
      structuredClone({
        subscriptions: this.subscriptions,
        guids: this.guids,
        feeds: this.feeds,
        pending: this.pending,
      }),
      { nextTimestamp: () => ++this.clock, nextSubscription: () => ++this.last },
    );
    work(set);
    const changes = describeChanges(set);
    this.history.push(...changes);
    // As services/subscriptions/working-set.ts saves it.
    const gone = new Set(set.merged().map(({ id }) => id));
    const changed = set.changedSubscriptions().map(({ subscription }) => subscription);
    this.subscriptions = merged(this.subscriptions, changed, "id").filter(({ id }) => !gone.has(id));
    this.guids = merged(this.guids, set.changedGuids(), "guid");
    this.feeds = merged(this.feeds, set.changedFeeds(), "feed");
    this.pending = this.pending.filter(({ id }) => !set.cancelled.includes(id));
    for (const { feed_url } of set.respelled()) this.spellings.add(feed_url);
    for (const { feed_url } of this.subscriptions) this.received.add(feed_url);
    return changes;
  }

  present(): PastSubscription[] {
    return this.subscriptions.map((one) => ({
      id: one.id,
      feed_url: one.feed_url,
      guid: one.guid,
      title: one.title,
      status: statusOf(one),
    }));
  }

  /** All subscriptions as they were when the clock stood there. */
  at(clock: number): PastSubscription[] {
    const later = this.history.filter(({ changed_at }) => changed_at > clock).toReversed();
    return [...undoChanges(this.present(), later).values()];
  }

  restore(clock: number, exact: boolean): void {
    const wanted = readWanted(this.at(clock));
    this.change((set) => restoreList(set, wanted, exact));
  }

  rows() {
    const { subscriptions, guids, feeds, pending } = this;
    return structuredClone({ subscriptions, guids, feeds, pending });
  }

  /** As src/backups/restore.ts does: the rows of a backup, and the history goes on. */
  replace(rows: StoredRows): void {
    const before = this.present();
    Object.assign(this, structuredClone(rows));
    const changed_at = ++this.clock;
    const difference = describeDifference(before, this.present());
    this.history.push(...difference.map((change, seq) => ({ ...change, changed_at, seq })));
  }

  /** Whether a device that has this spelling of a feed can be told of the feed in it. */
  knows(feed_url: string): boolean {
    const { hash } = validFeed(feed_url);
    const row = this.feeds.find(({ feed }) => feed === hash);
    const present = this.subscriptions.find(({ id }) => id === row?.subscription)?.feed_url;
    return [present, row?.left_url].includes(feed_url) || this.spellings.has(feed_url);
  }

  /** P3: each guid and feed URL that is current leads to its subscription, and to no other. */
  check(): void {
    const guids = new Map(this.guids.map((row) => [row.guid, row]));
    const feeds = new Map(this.feeds.map((row) => [row.feed, row.subscription]));
    const places = new Set<number>();
    for (const one of this.subscriptions) {
      expect(guids.get(one.guid)).toMatchObject({ subscription: one.id, retired_at: null });
      expect(feeds.get(validFeed(one.feed_url).hash)).toBe(one.id);
      expect(one.deleted !== null && one.is_subscribed).toBe(false);
      places.add(Math.max(one.subscription_changed, one.guid_changed ?? 0, one.deleted ?? 0));
    }
    expect(places.size).toBe(this.subscriptions.length);
    const ids = new Set(this.subscriptions.map(({ id }) => id));
    for (const { subscription } of [...this.guids, ...this.feeds]) expect(ids).toContain(subscription);
  }
}

type Step =
  | { type: "add"; items: { feed: number; guid: number | null }[] }
  | { type: "feed" | "guid"; subscription: number; to: number }
  | { type: "flag"; subscription: number; to: boolean }
  | { type: "delete" | "request" | "touch"; subscription: number }
  | { type: "backup"; to: number }
  | { type: "restore"; to: number; exact: boolean };

const FEEDS = [
  "https://a.test/",
  "http://A.test",
  "https://b.test/x",
  "https://c.test/",
  "https://d.test/",
  "https://e.test/",
];
const GUIDS = Array.from({ length: 5 }, (_, index) => `0000000${index}-0000-4000-8000-000000000000`);

const feed = fc.nat(FEEDS.length - 1);
const guid = fc.nat(GUIDS.length - 1);
const subscription = fc.nat(9);
const type = <const T extends string>(name: T) => fc.constant(name);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: type("add"),
      items: fc.array(fc.record({ feed, guid: fc.option(guid) }), { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: type("feed"), subscription, to: feed }) },
  { weight: 3, arbitrary: fc.record({ type: type("guid"), subscription, to: guid }) },
  { weight: 3, arbitrary: fc.record({ type: type("flag"), subscription, to: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ type: type("delete"), subscription }) },
  { weight: 1, arbitrary: fc.record({ type: type("request"), subscription }) },
  { weight: 1, arbitrary: fc.record({ type: type("touch"), subscription }) },
  { weight: 1, arbitrary: fc.record({ type: type("backup"), to: fc.nat(100) }) },
  { weight: 3, arbitrary: fc.record({ type: type("restore"), to: fc.nat(100), exact: fc.boolean() }) },
);
const steps = fc.array(step, { maxLength: 40, size: "max" });

interface Moment {
  clock: number;
  all: PastSubscription[];
  rows: StoredRows;
}

function play(memory: Memory, one: Step, moments: Moment[]): void {
  if (one.type === "restore" || one.type === "backup") {
    const moment = moments[one.to % moments.length]!;
    if (one.type === "restore") memory.restore(moment.clock, one.exact);
    else memory.replace(moment.rows);
    return;
  }
  if (one.type === "request") {
    const chosen = memory.subscriptions[one.subscription % memory.subscriptions.length];
    if (chosen?.deleted === null && !memory.pending.some(({ subscription }) => subscription === chosen.id))
      memory.pending.push({ id: ++memory.requested, subscription: chosen.id });
    return;
  }
  memory.change((set) => {
    if (one.type === "add") {
      for (const item of one.items)
        addFeed(set, validFeed(FEEDS[item.feed]!), item.guid === null ? null : GUIDS[item.guid]!);
      return;
    }
    const all = set.all();
    const chosen = all[one.subscription % all.length];
    if (!chosen || chosen.deleted !== null) return;
    if (one.type === "feed") changeFeed(set, chosen, validFeed(FEEDS[one.to]!));
    else if (one.type === "guid") changeGuid(set, chosen, chosen.guid, GUIDS[one.to]!);
    else if (one.type === "flag") changeSubscribed(set, chosen, one.to);
    else if (one.type === "delete") deleteSubscription(set, chosen);
    else touchSubscription(set, chosen);
  });
}

const listOf = (all: PastSubscription[]) =>
  all.flatMap(({ status, feed_url }) => (status === "subscribed" ? [feed_url] : [])).sort();
const byId = (all: PastSubscription[]) => all.toSorted((a, b) => a.id - b.id);
const withoutTitles = (all: PastSubscription[]) => byId(all).map(({ title, ...one }) => one);

/** Plays the steps, and gives all subscriptions as they were at each moment. */
function playAll(all: Step[]): { memory: Memory; moments: Moment[] } {
  const memory = new Memory();
  const moments: Moment[] = [{ clock: 0, all: memory.present(), rows: memory.rows() }];
  for (const one of all) {
    const changes = memory.history.length;
    const before = memory.clock;
    play(memory, one, moments);
    memory.check();
    // Every timestamp that was given out is in the history.
    const known = new Set(memory.history.slice(changes).map(({ changed_at }) => changed_at));
    for (const { subscription_changed, guid_changed, deleted } of memory.subscriptions) {
      const place = Math.max(subscription_changed, guid_changed ?? 0, deleted ?? 0);
      if (place > before) expect(known).toContain(place);
    }
    moments.push({ clock: memory.clock, all: memory.present(), rows: memory.rows() });
  }
  return { memory, moments };
}

describe("history", () => {
  test("undone from the present, gives every list there was: feed URLs, guids, merged and deleted ones", () => {
    fc.assert(
      fc.property(steps, (all) => {
        const { memory, moments } = playAll(all);
        for (const { clock, all } of moments) expect(withoutTitles(memory.at(clock))).toEqual(withoutTitles(all));
      }),
      { numRuns: 300 },
    );
  });

  test("says of a podcast that a backup brings unsubscribed that it was: others count what is subscribed by it", () => {
    const rest = { id: 1, feed_url: FEEDS[0]!, guid: GUIDS[0]!, title: null };
    const changes = (status: PastSubscription["status"]) =>
      describeDifference([], [{ ...rest, status }]).map(({ what, before }) => [what, before]);
    const added = ["added", null];
    expect(changes("subscribed")).toEqual([added]);
    expect(changes("unsubscribed")).toEqual([added, ["unsubscribed", "subscribed"]]);
    expect(changes("deleted")).toEqual([added, ["deleted", "subscribed"]]);
  });

  test("knows each spelling of a feed that a device may have received, through moves, merges and restored lists", () => {
    const changes = steps.map((all) => all.filter(({ type }) => type !== "backup"));
    fc.assert(
      fc.property(changes, (all) => {
        const { memory } = playAll(all);
        expect([...memory.received].filter((feed_url) => !memory.knows(feed_url))).toEqual([]);
      }),
      { numRuns: 600 },
    );
  });

  test("brings back exactly any list there was", () => {
    fc.assert(
      fc.property(steps, fc.nat(), (all, choice) => {
        const { memory, moments } = playAll(all);
        const moment = moments[choice % moments.length]!;
        memory.restore(moment.clock, true);
        memory.check();
        expect(listOf(memory.present())).toEqual(listOf(moment.all));
        const again = memory.history.length;
        memory.restore(moment.clock, true);
        expect(memory.history.length).toBe(again);
      }),
      { numRuns: 300 },
    );
  });

  test("brings back any list there was and keeps what was added since; what has moved stays at its new URL", () => {
    fc.assert(
      fc.property(steps, fc.nat(), (all, choice) => {
        const { memory, moments } = playAll(all);
        const moment = moments[choice % moments.length]!;
        const before = memory.present();
        memory.restore(moment.clock, false);
        memory.check();
        const after = memory.present();
        const subscribed = new Set(after.filter(({ status }) => status === "subscribed").map(({ id }) => id));
        const list = new Set(listOf(after).map((url) => validFeed(url).hash));
        for (const { id, feed_url, status } of moment.all) {
          if (status === "subscribed") expect(subscribed.has(id) || list.has(validFeed(feed_url).hash)).toBe(true);
        }
        for (const { feed_url, id, status } of before) {
          if (status === "subscribed") expect(subscribed.has(id) || list.has(validFeed(feed_url).hash)).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });
});
