// A user's subscriptions in one write transaction, before and after it.
import { hashFeedUrl } from "./feed-url.ts";
import { changedAt, type SubscriptionChange, type SubscriptionState } from "./subscription-state.ts";

/** Which subscription a guid means, and when another guid replaced it there; null for the current guid. */
interface GuidState {
  subscription: SubscriptionState;
  retired_at: number | null;
}

/** Rows of the database that one transaction may change. */
export interface StoredRows {
  subscriptions: SubscriptionState[];
  guids: { guid: string; subscription: number; retired_at: number | null }[];
  /**
   * Feed URLs by their hash. `left_url` is the URL as it was when the subscription left it, at `left_at`; null if that was in
   * the transaction that gave it the URL.
   */
  feeds: { feed: string; subscription: number; left_url: string | null; left_at: number | null }[];
  /** Pending deletions. */
  pending: { id: number; subscription: number }[];
}

/** Gives timestamps and ids that no earlier transaction has given out. */
interface Counters {
  nextTimestamp(): number;
  nextSubscription(): number;
}

const NOT_LEFT = { left_url: null, left_at: null };
/** Of a URL that a subscription had within one transaction only: no app was told of it. */
const NEVER_TOLD = { left_url: null, left_at: 0 };

/** The part of a user's subscriptions that one transaction can change. */
export class WorkingSet {
  readonly guids = new Map<string, GuidState>();
  readonly feeds = new Map<string, SubscriptionState>();
  /** Ids of deletions that are to be cancelled. */
  readonly cancelled: number[] = [];
  readonly #subscriptions = new Map<number, SubscriptionState>();
  readonly #before = new Map<SubscriptionState, SubscriptionState>();
  readonly #pending = new Map<SubscriptionState, number>();
  readonly #timestamps = new Map<SubscriptionState, number>();
  /** Merged subscriptions, and into which; guids and feeds that lead to them are followed when they are read. */
  readonly #merged = new Map<SubscriptionState, SubscriptionState>();
  readonly #storedGuids = new Map<string, StoredRows["guids"][number]>();
  readonly #storedFeeds = new Map<string, StoredRows["feeds"][number]>();

  constructor(
    stored: StoredRows,
    private readonly counters: Counters,
  ) {
    this.load(stored);
  }

  /** Adds rows of the database; those that are there already stay as they are. */
  load(stored: StoredRows): void {
    for (const row of stored.subscriptions) {
      if (this.#subscriptions.has(row.id)) continue;
      this.#subscriptions.set(row.id, row);
      this.#before.set(row, { ...row });
    }
    for (const row of stored.guids) {
      const { guid, subscription, retired_at } = row;
      this.#storedGuids.set(guid, row);
      const found = this.#subscriptions.get(subscription);
      if (found && !this.guids.has(guid)) this.guids.set(guid, { subscription: found, retired_at });
    }
    for (const row of stored.feeds) {
      const { feed, subscription } = row;
      this.#storedFeeds.set(feed, row);
      const found = this.#subscriptions.get(subscription);
      if (found && !this.feeds.has(feed)) this.feeds.set(feed, found);
    }
    for (const { id, subscription } of stored.pending) {
      const found = this.#subscriptions.get(subscription);
      if (found) this.#pending.set(found, id);
    }
  }

  /** A subscription that was loaded or created here, or the one that it was merged into. */
  byId(id: number): SubscriptionState | undefined {
    const found = this.#subscriptions.get(id);
    return found && this.current(found);
  }

  byGuid(guid: string): SubscriptionState | undefined {
    const found = this.guids.get(guid);
    return found && this.current(found.subscription);
  }

  /** @param feed hash of a feed URL */
  byFeed(feed: string): SubscriptionState | undefined {
    const found = this.feeds.get(feed);
    return found && this.current(found);
  }

  /** The subscription itself, or the one that it was merged into. */
  current(subscription: SubscriptionState): SubscriptionState {
    let current = subscription;
    for (let next = this.#merged.get(current); next; next = this.#merged.get(current)) current = next;
    // Later calls take one step, however long a chain of merges is.
    for (let one = subscription; one !== current; ) {
      const next = this.#merged.get(one) ?? current;
      this.#merged.set(one, current);
      one = next;
    }
    return current;
  }

  /** The one timestamp of all changes to a subscription in this transaction (P1). */
  timestamp(subscription: SubscriptionState): number {
    const given = this.#timestamps.get(subscription) ?? this.counters.nextTimestamp();
    this.#timestamps.set(subscription, given);
    return given;
  }

  create(feed_url: string, guid: string): SubscriptionState {
    const subscription: SubscriptionState = {
      id: this.counters.nextSubscription(),
      feed_url,
      guid,
      is_subscribed: true,
      subscription_changed: 0,
      guid_changed: null,
      deleted: null,
      title: null,
    };
    subscription.subscription_changed = this.timestamp(subscription);
    this.#subscriptions.set(subscription.id, subscription);
    return subscription;
  }

  hasPendingDeletion(subscription: SubscriptionState): boolean {
    return this.#pending.has(subscription);
  }

  /** Cancels the pending deletion of a subscription; false if there is none. */
  cancelDeletion(subscription: SubscriptionState): boolean {
    const deletion = this.#pending.get(subscription);
    if (deletion === undefined) return false;
    this.cancelled.push(deletion);
    return this.#pending.delete(subscription);
  }

  /** Gives all guids and feed URLs of `from` to `into`; `from` is gone. */
  merge(from: SubscriptionState, into: SubscriptionState): void {
    this.#merged.set(from, into);
  }

  /** The guids as they are after all merges. */
  *#currentGuids(): Generator<[guid: string, state: GuidState]> {
    for (const [guid, state] of this.guids) {
      const subscription = this.current(state.subscription);
      const { retired_at } = state;
      if (subscription === state.subscription || retired_at === null) yield [guid, { subscription, retired_at }];
      // No guid is retired later than its subscription's place in the change feed: the count behind `total` relies on it.
      else yield [guid, { subscription, retired_at: Math.min(retired_at, this.timestamp(subscription)) }];
    }
  }

  /** All subscriptions that were loaded or created here, without merged ones. */
  all(): SubscriptionState[] {
    return [...this.#subscriptions.values()].filter((subscription) => !this.#merged.has(subscription));
  }

  /** The first guid of each subscription that this transaction retired. */
  retiredGuids(): Map<SubscriptionState, string> {
    const retired = new Map<SubscriptionState, string>();
    for (const [guid, { subscription, retired_at }] of this.#currentGuids()) {
      if (retired_at === null || retired_at !== this.#timestamps.get(subscription)) continue;
      if (!retired.has(subscription)) retired.set(subscription, guid);
    }
    return retired;
  }

  /** Stored subscriptions that were merged into others, as they were. */
  merged(): Readonly<SubscriptionState>[] {
    return [...this.#merged.keys()].flatMap((from) => this.#before.get(from) ?? []);
  }

  /** What this transaction changed, in the order of the changes. */
  changes(): SubscriptionChange[] {
    const kept = [...this.#timestamps.keys()]
      .filter((subscription) => !this.#merged.has(subscription))
      .map((after) => ({
        before: this.#before.get(after) ?? null,
        after,
        merged_into: null,
        changed_at: this.timestamp(after),
      }));
    const merged = [...this.#merged.keys()].flatMap((from) => {
      const before = this.#before.get(from);
      if (!before) return [];
      const into = this.current(from);
      return { before, after: null, merged_into: into, changed_at: this.timestamp(into) };
    });
    return [...merged, ...kept];
  }

  /** Subscriptions to write, each with its place in the change feed. */
  changedSubscriptions(): { subscription: SubscriptionState; changed_at: number }[] {
    return this.all()
      .filter((subscription) => this.#isChanged(subscription))
      .map((subscription) => ({
        subscription,
        changed_at: this.#timestamps.get(subscription) ?? changedAt(subscription),
      }));
  }

  #isChanged(subscription: SubscriptionState): boolean {
    return this.#timestamps.has(subscription) || subscription.title !== this.#before.get(subscription)?.title;
  }

  /** Guids to write. */
  changedGuids(): StoredRows["guids"] {
    return [...this.#currentGuids()]
      .map(([guid, { subscription, retired_at }]) => ({ guid, subscription: subscription.id, retired_at }))
      .filter(({ guid, subscription, retired_at }) => {
        const before = this.#storedGuids.get(guid);
        return before?.subscription !== subscription || before.retired_at !== retired_at;
      });
  }

  /** The URL that a subscription had left before this transaction, and when. */
  leftBefore(feed: string): { left_url: string | null; left_at: number | null } | undefined {
    return this.#storedFeeds.get(feed);
  }

  /** Feed URLs to write, by their hash. */
  changedFeeds(): StoredRows["feeds"] {
    const rows = new Map<string, StoredRows["feeds"][number]>();
    for (const [feed, subscription] of this.feeds) {
      const { id, feed_url } = this.current(subscription);
      const before = this.#storedFeeds.get(feed);
      if (before?.subscription === id && before.left_at === null) continue;
      const { left_url, left_at } = before ?? NOT_LEFT;
      const left = left_at === null ? NEVER_TOLD : { left_url, left_at };
      rows.set(feed, { feed, subscription: id, ...(hashFeedUrl(feed_url) === feed ? NOT_LEFT : left) });
    }
    for (const { from, to } of this.#newFeedUrls()) {
      const feed = hashFeedUrl(from.feed_url);
      // A restored list may have given the feed URL to another subscription.
      if (feed === hashFeedUrl(to.feed_url) || (this.byFeed(feed) ?? to) !== to) continue;
      rows.set(feed, { feed, subscription: to.id, left_url: from.feed_url, left_at: this.timestamp(to) });
    }
    return [...rows.values()].filter((row) => {
      const before = this.#storedFeeds.get(row.feed);
      return before?.subscription !== row.subscription || before.left_at !== row.left_at;
    });
  }

  /** Feeds that a subscription gives to another one, and stays apart from it. */
  handedOver(): { feed: string; from: number; to: number }[] {
    return [...this.#storedFeeds].flatMap(([feed, { subscription }]) => {
      const [owner, to] = [this.byId(subscription), this.byFeed(feed)];
      return owner && to && owner !== to ? { feed, from: subscription, to: to.id } : [];
    });
  }

  /** Feeds whose URL has another spelling now, with the one before: a subscription had it, or had left it. */
  respelled(): { feed: string; feed_url: string }[] {
    const found: { feed: string; feed_url: string }[] = [];
    for (const [feed, { subscription, left_url }] of this.#storedFeeds) {
      const owner = this.#subscriptions.get(subscription);
      const before = left_url ?? (owner && this.#before.get(owner)?.feed_url) ?? null;
      const now = this.byFeed(feed)?.feed_url ?? before;
      if (before === null || now === null || now === before) continue;
      if (hashFeedUrl(now) === feed && hashFeedUrl(before) === feed) found.push({ feed, feed_url: before });
    }
    return found;
  }

  /** Subscriptions as they were, and what they are now under another feed URL. */
  #newFeedUrls(): { from: Readonly<SubscriptionState>; to: Readonly<SubscriptionState> }[] {
    // What is new here had no other one.
    if (this.#before.size === 0) return [];
    return this.changes().flatMap(({ before, after, merged_into }) => {
      const to = after ?? merged_into;
      return before && to && before.feed_url !== to.feed_url ? [{ from: before, to }] : [];
    });
  }
}
