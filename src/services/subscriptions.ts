// Subscriptions: read, add, change, and request deletion.
import type { FeedUrl } from "../domain/feed-url.ts";
import { addFeed, changeFeed, changeGuid, changeSubscribed, giveTitle } from "../domain/subscription-rules.ts";
import type { SubscriptionState, WorkingSet } from "../domain/working-set.ts";
import { DomainError } from "../errors.ts";
import { findPending, insertDeletion } from "../store/deletions.ts";
import { findByGuid } from "../store/subscriptions.ts";
import { type Actor, requireWrite, writeActor } from "./actor.ts";
import type { Context } from "./context.ts";
import { transact } from "./transact.ts";
import { changeSubscriptions } from "./working-set.ts";

const notFound = () => new DomainError("not_found", "There is no such subscription");

/**
 * Reads one subscription by any guid that it ever had, with the user's clock.
 * @throws DomainError "not_found", or "gone" if it was deleted
 */
export async function getSubscription({ database }: Context, { user_id }: Actor, guid: string) {
  const [row] = await database.read((tx) => findByGuid(tx, { user_id, guid }));
  if (!row) throw notFound();
  if (row.deleted !== null) throw new DomainError("gone", "The subscription was deleted");
  return row;
}

/** A feed to subscribe to. */
export interface NewSubscription {
  feed: FeedUrl;
  /** The guid that was sent for it; null if none was. */
  guid: string | null;
  /** For a subscription that has no title. */
  title?: string | null;
}

/**
 * Subscribes to feeds in one transaction.
 * @returns for each, in the order given, its subscription after the whole transaction
 */
export async function addSubscriptions(
  context: Context,
  actor: Actor,
  items: NewSubscription[],
): Promise<SubscriptionState[]> {
  requireWrite(actor);
  if (items.length === 0) return [];
  const wanted = {
    guids: items.map(({ feed, guid }) => guid ?? feed.computed_guid),
    feeds: items.map(({ feed }) => feed.hash),
  };
  return changeSubscriptions(context, actor, wanted, (set) =>
    items.map((item) => add(set, item)).map((added) => set.current(added)),
  );
}

function add(set: WorkingSet, { feed, guid, title = null }: NewSubscription): SubscriptionState {
  const added = addFeed(set, feed, guid);
  giveTitle(added, title);
  return added;
}

export interface SubscriptionPatch {
  new_guid?: string | undefined;
  feed?: FeedUrl | undefined;
  is_subscribed?: boolean | undefined;
}

/**
 * Changes a subscription by any guid that it ever had: first its guid, then its feed URL, then whether it is subscribed.
 * @throws DomainError "not_found"
 */
export function patchSubscription(
  context: Context,
  actor: Actor,
  guid: string,
  { new_guid, feed, is_subscribed }: SubscriptionPatch,
): Promise<SubscriptionState> {
  const wanted = { guids: new_guid === undefined ? [guid] : [guid, new_guid], feeds: feed ? [feed.hash] : [] };
  return changeSubscriptions(context, actor, wanted, (set) => {
    const found = set.byGuid(guid);
    if (!found || found.deleted !== null) throw notFound();
    const subscription = new_guid === undefined ? found : changeGuid(set, found, guid, new_guid);
    if (feed) changeFeed(set, subscription, feed);
    if (is_subscribed !== undefined) changeSubscribed(set, subscription, is_subscribed);
    return subscription;
  });
}

/**
 * Requests the deletion of a subscription; while one is pending, returns the same id.
 * @returns the deletion's id
 * @throws DomainError "not_found" if there is no such subscription, or it was deleted already
 */
export async function requestDeletion(context: Context, actor: Actor, guid: string): Promise<number> {
  const deletion = await transact(context, actor, async ({ tx, user_id, nextDeletion }) => {
    const [row] = await findByGuid(tx, { user_id, guid });
    if (!row || row.deleted !== null) throw notFound();
    const [pending] = await findPending(tx, { user_id }, [{ subscription: row.id }]);
    if (pending) return pending.id;
    const id = nextDeletion();
    const requested_at = context.clock.now();
    await insertDeletion(tx, { user_id, id, subscription: row.id, requested_at, ...writeActor(actor) });
    return id;
  });
  context.wakeWorker();
  return deletion;
}
