// Actions of clients of the draft of the Open Podcast API: which of them wins (docs/open-podcast-draft.md).
import type { FeedUrl } from "./feed-url.ts";
import { isSubscribed } from "./history.ts";
import {
  addFeed,
  changeFeed,
  changeGuid,
  changeSubscribed,
  createSubscription,
  subscribeAgain,
} from "./subscription-rules.ts";
import type { SubscriptionState } from "./subscription-state.ts";
import { createEntity, refreshEntity, type SyncEntity } from "./sync-entities.ts";
import type { WorkingSet } from "./working-set.ts";

/** An action of a client. It names a subscription by sync_id; without one, by feed URL or guid. */
export interface SyncAction {
  action: "subscribe" | "unsubscribe" | "update";
  /** Unix milliseconds by the client's clock. */
  occurred_at: number;
  sync_id: string | null;
  feed: FeedUrl | null;
  guid: string | null;
}

export type Outcome = "applied" | "ignored" | "rejected";

interface Decision {
  status: Outcome;
  /** Why it was rejected. */
  reason?: string;
  subscription: SubscriptionState | null;
}

/** What actions of one request say of a subscription, and what was said before. */
interface Said {
  before: Pick<SyncEntity, "status_at" | "address_at" | "client">;
  now: Partial<SyncEntity>;
}

const NOT_FOUND = "Entity not found";

/** Decides the actions of one request, in the order of the calls. */
export class ActionRules {
  readonly #said = new Map<SubscriptionState, Said>();
  readonly #bySyncId: ReadonlyMap<string, SyncEntity>;
  /** By the subscription's id, without those that became part of others. */
  readonly #current: ReadonlyMap<number, SyncEntity>;

  /**
   * @param entities of the subscriptions in the working set, with those that became part of them
   * @param client the installation that sends the request; null if it does not say
   * @param now wall time: a clock that is ahead of it is taken as this
   */
  constructor(
    private readonly set: WorkingSet,
    entities: readonly SyncEntity[],
    private readonly client: string | null,
    private readonly now: number,
  ) {
    this.#bySyncId = new Map(entities.map((one) => [one.sync_id, one]));
    this.#current = new Map(entities.flatMap((one) => (one.left_at === null ? [[one.subscription, one]] : [])));
    for (const subscription of set.all()) this.#saidOf(subscription);
  }

  decide({ action, occurred_at, sync_id, feed, guid }: SyncAction): Decision {
    if (action === "subscribe") {
      if (!feed) return { status: "rejected", reason: "feed_url is required", subscription: null };
      return this.#subscribe(occurred_at, feed, guid);
    }
    const found = this.#find(sync_id, feed, guid);
    if (!found) return { status: "rejected", reason: NOT_FOUND, subscription: null };
    return action === "unsubscribe"
      ? this.#unsubscribe(occurred_at, found)
      : this.#update(occurred_at, found, feed, guid);
  }

  /** What the actions say of each subscription, for its entity. */
  said(): { subscription: SubscriptionState; said: Partial<SyncEntity> }[] {
    return [...this.#said]
      .filter(([one, { now }]) => this.set.current(one) === one && Object.keys(now).length > 0)
      .map(([subscription, { now }]) => ({ subscription, said: now }));
  }

  #find(sync_id: string | null, feed: FeedUrl | null, guid: string | null): SubscriptionState | undefined {
    if (sync_id !== null) {
      const entity = this.#bySyncId.get(sync_id);
      return entity && this.set.byId(entity.subscription);
    }
    return this.#named(feed, guid);
  }

  /** By its feed URL; if none has or had that, by its guid, which may be the one that is computed from the URL. */
  #named(feed: FeedUrl | null, guid: string | null): SubscriptionState | undefined {
    const byFeed = feed ? this.set.byFeed(feed.hash) : undefined;
    const named = guid ?? feed?.computed_guid;
    return byFeed ?? (named === undefined ? undefined : this.set.byGuid(named));
  }

  #saidOf(subscription: SubscriptionState): Said {
    let said = this.#said.get(subscription);
    if (!said) {
      const known = this.#current.get(subscription.id);
      const before = known ? refreshEntity(known, subscription) : createEntity(subscription, "");
      said = { before, now: {} };
      this.#said.set(subscription, said);
    }
    return said;
  }

  /**
   * When an action counts as said; null if it comes too late. The later time wins. Of equal ones the first wins, but one
   * client may say two things in a second. Times that can't be true leave it to the order of arrival.
   */
  #timeOf(occurred_at: number, { before, now }: Said, kind: "status_at" | "address_at"): number | null {
    const last = now[kind] ?? before[kind];
    if (occurred_at > this.now) return Math.max(this.now, last);
    if (last > this.now || occurred_at > last) return occurred_at;
    // What was said in this request is its client's, also if that does not say who it is.
    const isOwn = now[kind] !== undefined || (this.client !== null && before.client === this.client);
    return occurred_at === last && isOwn ? occurred_at : null;
  }

  #subscribe(occurred_at: number, feed: FeedUrl, guid: string | null): Decision {
    const { set, client } = this;
    const found = this.#named(feed, guid);
    if (!found) {
      const subscription = createSubscription(set, feed, guid ?? feed.computed_guid);
      const at = Math.min(occurred_at, this.now);
      this.#saidOf(subscription).now = { status_at: at, address_at: at, subscribed_at: at, client };
      return { status: "applied", subscription };
    }
    const said = this.#saidOf(found);
    const at = this.#timeOf(occurred_at, said, "status_at");
    if (at === null) return { status: "ignored", subscription: found };
    said.now.status_at = at;
    if (isSubscribed(found) && !set.hasPendingDeletion(found)) return { status: "ignored", subscription: found };
    Object.assign(said.now, { subscribed_at: at, unsubscribed_at: null, client });
    const isNewUrl = guid !== null && set.byFeed(feed.hash) === undefined;
    if (found.deleted !== null || (isNewUrl && this.#timeOf(occurred_at, said, "address_at") !== null)) {
      addFeed(set, feed, isNewUrl ? guid : null);
      said.now.address_at = at;
    } else subscribeAgain(set, found);
    return { status: "applied", subscription: found };
  }

  #unsubscribe(occurred_at: number, found: SubscriptionState): Decision {
    const said = this.#saidOf(found);
    const at = this.#timeOf(occurred_at, said, "status_at");
    if (at === null) return { status: "ignored", subscription: found };
    said.now.status_at = at;
    if (!isSubscribed(found)) return { status: "ignored", subscription: found };
    Object.assign(said.now, { unsubscribed_at: at, client: this.client });
    changeSubscribed(this.set, found, false);
    return { status: "applied", subscription: found };
  }

  #update(occurred_at: number, found: SubscriptionState, feed: FeedUrl | null, guid: string | null): Decision {
    if (found.deleted !== null) return { status: "rejected", reason: NOT_FOUND, subscription: null };
    if (!feed && guid === null)
      return { status: "rejected", reason: "feed_url or guid is required", subscription: null };
    const at = this.#timeOf(occurred_at, this.#saidOf(found), "address_at");
    if (at === null) return { status: "ignored", subscription: found };
    const other = guid === null ? undefined : this.set.byGuid(guid);
    // It becomes part of one of which something later was said. A deleted one gets its address.
    const isLate = other?.deleted === null && this.#timeOf(occurred_at, this.#saidOf(other), "address_at") === null;
    const subscription = guid === null ? found : changeGuid(this.set, found, found.guid, guid);
    const said = this.#saidOf(subscription);
    said.now.client = this.client;
    if (isLate) return { status: "applied", subscription };
    said.now.address_at = at;
    if (feed) changeFeed(this.set, subscription, feed);
    return { status: "applied", subscription };
  }
}
