// What changed after a client knew the list. It may be much, so most of it is read before the transaction of an upload.
import type { Database } from "../../db/database.ts";
import type { Change } from "../../domain/history.ts";
import type { Millis } from "../../domain/sync-window.ts";
import { listChangesFrom, readChanges, readHistoryStart } from "../../store/history.ts";
import { nextTurn } from "../../turns.ts";
import { clockIn, type UserTx } from "../transact.ts";

/** Changes that are read in a transaction: others wait for it. */
const MOST_READ = 256;

/** Thrown in a transaction after more changes than it reads: they are read before it is tried again. */
export class ManyChanges extends Error {
  constructor(readonly later: LaterChanges) {
    super("Too much has changed to be read in a transaction");
  }
}

/** Newest first, by the subscription that changed, or that a merged one became part of; null for what was lost. */
type BySubscription = Map<number | null, Change[]>;

/** What changed after a time. */
export class LaterChanges {
  readonly #changes: BySubscription = new Map();
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
    for (const [key, changes] of news) this.#changes.set(key, [...changes, ...(this.#changes.get(key) ?? [])]);
    this.#clock = to;
  }

  /** The changes of a subscription, and of those that became part of it, newest first. */
  of(subscription: number | null): Change[] {
    return [...(this.#changes.get(subscription) ?? []), ...(this.earlier?.of(subscription) ?? [])];
  }

  /** The changes of subscriptions, of all that became part of them before, and of all that were lost; of each one newest first. */
  ofAll(subscriptions: Iterable<number>): Change[] {
    const found: Change[] = [];
    const keys = new Set<number | null>([null, ...subscriptions]);
    // Also those that are added on the way: what a merged one did before comes after its merge.
    for (const key of keys) {
      for (const change of this.of(key)) {
        found.push(change);
        keys.add(change.subscription);
      }
    }
    return found;
  }
}

const isOfStatus = (change: Change | undefined): boolean =>
  change !== undefined && ["subscribed", "unsubscribed", "deleted"].includes(change.what);

/** Adds a change that is older than those before. Of several in a row that took or gave the same, the last and first count. */
function addOlder(changes: BySubscription, change: Change): void {
  const key = change.what === "lost" ? null : (change.merged_into ?? change.subscription);
  const newer = changes.get(key) ?? [];
  if ([change, newer.at(-1), newer.at(-2)].every(isOfStatus)) newer.pop();
  newer.push(change);
  changes.set(key, newer);
}
