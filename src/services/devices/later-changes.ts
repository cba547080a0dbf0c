// What changed after a client knew the list. It may be much, so most of it is read before the transaction of an upload.
import type { Database } from "../../db/database.ts";
import { hashFeedUrl } from "../../domain/feed-url.ts";
import type { Change } from "../../domain/history.ts";
import type { Millis } from "../../domain/sync-window.ts";
import { listChangesFrom, readChanges, readHistoryStart } from "../../store/history.ts";
import { mapInTurns, nextTurn } from "../../turns.ts";
import { clockIn, type UserTx } from "../transact.ts";

/** Changes that are read in a transaction: others wait for it. */
const MOST_READ = 256;

/** Thrown in a transaction after more changes than it reads: they are read before it is tried again. */
export class ManyChanges extends Error {
  constructor(readonly later: LaterChanges) {
    super("Too much has changed to be read in a transaction");
  }
}

/** Newest first, by the subscription that changed; a merge also by the one that the merged one became part of. */
type BySubscription = Map<number, Change[]>;

/** What changed after a time. */
export class LaterChanges {
  readonly #changes: BySubscription = new Map();
  /** Subscriptions that were merged or lost, by the feeds that they had before all changes. */
  readonly #formerly = new Map<string, Set<number>>();
  /** The user's clock when they were read. */
  #clock: Millis;

  private constructor(
    readonly after: Millis,
    private readonly earlier: LaterChanges | null,
  ) {
    this.#clock = earlier ? earlier.#clock : after;
  }

  /**
   * Reads what changed after a time; null if the history no longer has all of that.
   * @param read what was read before the transaction
   * @throws ManyChanges
   */
  static async find({ tx, user_id }: UserTx, after: Millis, read: LaterChanges | null): Promise<LaterChanges | null> {
    const [history] = await readHistoryStart(tx, { user_id });
    if (!history || history.history_since > after) return null;
    const known = read?.after === after ? read : new LaterChanges(after, null);
    // Not kept: what others did in the same group may be undone.
    const later = new LaterChanges(after, known);
    const news = await listChangesFrom(tx, { user_id, from: known.#clock + 1, limit: MOST_READ + 1 });
    if (news.length > MOST_READ) throw new ManyChanges(known);
    for (const change of news) addOlder(later.#changes, change);
    for (const id of later.#changes.keys()) later.#noteFormer(id);
    return later;
  }

  /** Reads on up to now, while others write. */
  async readOn(database: Database, user_id: number): Promise<void> {
    const to = await database.read((tx) => clockIn(tx, user_id));
    const news: BySubscription = new Map();
    for await (const changes of readChanges(database, { user_id, from: this.#clock + 1, to })) {
      for (const change of changes) addOlder(news, change);
      await nextTurn();
    }
    for (const [id, changes] of news) this.#changes.set(id, [...changes, ...this.of(id)]);
    await mapInTurns(news.keys(), (id) => this.#noteFormer(id));
    this.#clock = to;
  }

  /** The changes of a subscription, and the merges of those that became part of it, newest first. */
  of(subscription: number): Change[] {
    return [...(this.#changes.get(subscription) ?? []), ...(this.earlier?.of(subscription) ?? [])];
  }

  /** The changes of subscriptions, of those that had some feeds before, and of all that became part of them; of each one newest first. */
  ofAll(subscriptions: Iterable<number>, feeds: Iterable<string>): Set<Change> {
    const found = new Set<Change>();
    const ids = new Set<number | null>(subscriptions);
    for (const feed of feeds) for (const id of this.#formerOf(feed)) ids.add(id);
    // Also those that are added on the way.
    for (const id of ids) {
      for (const change of id === null ? [] : this.of(id)) {
        found.add(change);
        ids.add(change.subscription);
      }
    }
    return found;
  }

  #formerOf(feed: string): number[] {
    const earlier = this.earlier ? this.earlier.#formerOf(feed) : [];
    return [...(this.#formerly.get(feed) ?? []), ...earlier];
  }

  /** Notes which feed a subscription had, if it was merged or lost: the feed may be another one's now. */
  #noteFormer(id: number): void {
    const own = this.of(id).filter(({ subscription }) => subscription === id);
    const end = own.find(({ what }) => what === "merged" || what === "lost");
    if (!end) return;
    const feed = hashFeedUrl(own.findLast(({ what }) => what === "moved")?.before ?? end.feed_url ?? "");
    this.#formerly.set(feed, (this.#formerly.get(feed) ?? new Set()).add(id));
  }
}

const isOfStatus = (change: Change | undefined): boolean =>
  change !== undefined && ["subscribed", "unsubscribed", "deleted"].includes(change.what);

/** Adds a change that is older than those before. Of several in a row that took or gave the same, the last and first count. */
function addOlder(changes: BySubscription, change: Change): void {
  for (const id of [change.subscription, change.merged_into]) {
    if (id === null) continue;
    const newer = changes.get(id) ?? [];
    if ([change, newer.at(-1), newer.at(-2)].every(isOfStatus)) newer.pop();
    newer.push(change);
    changes.set(id, newer);
  }
}
