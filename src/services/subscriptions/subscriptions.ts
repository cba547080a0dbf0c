// Subscriptions: read, add, change, and request deletion.
import type { FeedUrl } from "../../domain/feed-url.ts";
import { type Change, type Status, statusOf } from "../../domain/history.ts";
import { maskFeedUrl } from "../../domain/readable-url.ts";
import { addFeed, changeFeed, changeGuid, changeSubscribed, giveTitle } from "../../domain/subscription-rules.ts";
import type { SubscriptionState } from "../../domain/subscription-state.ts";
import type { WorkingSet } from "../../domain/working-set.ts";
import { DomainError, unlessRefused } from "../../errors.ts";
import { findPending, insertDeletion } from "../../store/deletions.ts";
import { findByGuid, listSubscriptions as listRows } from "../../store/subscriptions.ts";
import { type Actor, requireWrite, writeActor } from "../actor.ts";
import type { Context } from "../context.ts";
import { inParts } from "../parts.ts";
import { transact } from "../transact.ts";
import { changeSubscriptions, type Rehearsal } from "./working-set.ts";

const notFound = () => new DomainError("not_found", "No such subscription");

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

/** The same; null if there is none, or it was deleted. */
export const findSubscription = (context: Context, actor: Actor, guid: string) =>
  unlessRefused(getSubscription(context, actor, guid), "not_found", "gone");

/** A subscription as an admin sees it. */
interface ListedSubscription {
  feed_url: string;
  guid: string;
  title: string | null;
  status: Status;
  /** Timestamp of the last change, in Unix milliseconds. */
  changed_at: number;
}

/** Lists a user's subscriptions, oldest first. @param all also unsubscribed and deleted ones */
export async function listSubscriptions(
  { database }: Context,
  { user_id }: Actor,
  { all }: { all: boolean },
): Promise<ListedSubscription[]> {
  const rows = await database.read((tx) => listRows(tx, { user_id }));
  return rows
    .map(({ feed_url, guid, title, is_subscribed, deleted, changed_at }) => ({
      feed_url,
      guid,
      title,
      status: statusOf({ is_subscribed, deleted }),
      changed_at,
    }))
    .filter(({ status }) => all || status === "subscribed");
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
 * Subscribes to feeds, some in each transaction: what is done already changes nothing when a request is repeated.
 * @returns for each, in the order given, its subscription after all of them
 */
export async function addSubscriptions(
  context: Context,
  actor: Actor,
  items: NewSubscription[],
): Promise<SubscriptionState[]> {
  requireWrite(actor);
  let added: SubscriptionState[] = [];
  for (const part of await inParts(items, ({ feed }) => feed.feed_url)) {
    const before = added;
    const { result } = await changeSubscriptions(context, actor, wantedFor(part), (set) => {
      const fresh = part.map((item) => addSubscription(set, item));
      // Items of this part may have changed what earlier ones added.
      return [...before.map((one) => set.byId(one.id) ?? one), ...fresh.map((one) => set.current(one))];
    });
    added = result;
  }
  return added;
}

/** What adding feeds can touch. */
export const wantedFor = (items: NewSubscription[]) => ({
  guids: items.map(({ feed, guid }) => guid ?? feed.computed_guid),
  feeds: items.map(({ feed }) => feed.hash),
});

export function addSubscription(set: WorkingSet, { feed, guid, title = null }: NewSubscription): SubscriptionState {
  const added = addFeed(set, feed, guid);
  giveTitle(added, title);
  return added;
}

/** Subscribes to feeds in one transaction. @returns what changed, or would change */
export async function subscribe(
  context: Context,
  actor: Actor,
  feeds: FeedUrl[],
  options: Rehearsal,
): Promise<Change[]> {
  const wanted = wantedFor(feeds.map((feed) => ({ feed, guid: null })));
  const add = (set: WorkingSet) => feeds.map((feed) => addFeed(set, feed, null));
  return (await changeSubscriptions(context, actor, wanted, add, options)).changes;
}

/**
 * Unsubscribes from feeds, by feed URL or guid, in one transaction.
 * @returns what changed, or would change
 * @throws DomainError "not_found" if one of them leads to no subscription; then nothing changes
 */
export async function unsubscribe(
  context: Context,
  actor: Actor,
  which: (FeedUrl | { guid: string })[],
  options: Rehearsal,
): Promise<Change[]> {
  const wanted = {
    guids: which.flatMap((one) => ("guid" in one ? [one.guid] : [])),
    feeds: which.flatMap((one) => ("hash" in one ? [one.hash] : [])),
  };
  const remove = (set: WorkingSet) => {
    for (const one of which) {
      const subscription = "guid" in one ? set.byGuid(one.guid) : set.byFeed(one.hash);
      if (!subscription || subscription.deleted !== null) {
        const name = "guid" in one ? one.guid : maskFeedUrl(one.feed_url);
        throw new DomainError("not_found", `There is no subscription ${name}`);
      }
      changeSubscribed(set, subscription, false);
    }
  };
  return (await changeSubscriptions(context, actor, wanted, remove, options)).changes;
}

interface SubscriptionPatch {
  new_guid?: string | undefined;
  feed?: FeedUrl | undefined;
  is_subscribed?: boolean | undefined;
}

/**
 * Changes a subscription by any guid that it ever had: first its guid, then its feed URL, then whether it is subscribed.
 * @throws DomainError "not_found"
 */
export async function patchSubscription(
  context: Context,
  actor: Actor,
  guid: string,
  { new_guid, feed, is_subscribed }: SubscriptionPatch,
): Promise<SubscriptionState> {
  const wanted = { guids: new_guid === undefined ? [guid] : [guid, new_guid], feeds: feed ? [feed.hash] : [] };
  const { result } = await changeSubscriptions(context, actor, wanted, (set) => {
    const found = set.byGuid(guid);
    if (!found || found.deleted !== null) throw notFound();
    const subscription = new_guid === undefined ? found : changeGuid(set, found, guid, new_guid);
    if (feed) changeFeed(set, subscription, feed);
    if (is_subscribed !== undefined) changeSubscribed(set, subscription, is_subscribed);
    return subscription;
  });
  return result;
}

/**
 * Requests the deletion of a subscription; while one is pending, returns the same id.
 * @returns the deletion's id
 * @throws DomainError "not_found" for an unknown subscription, or one that was deleted already
 */
export async function requestDeletion(context: Context, actor: Actor, guid: string): Promise<number> {
  const deletion = await transact(context, actor, async ({ tx, user_id, nextDeletion }) => {
    const [row] = await findByGuid(tx, { user_id, guid });
    if (!row || row.deleted !== null) throw notFound();
    const [pending] = await findPending(tx, { user_id }, [{ subscription: row.id }]);
    if (pending) return pending.id;
    const id = nextDeletion();
    const now = context.clock.now();
    const times = { requested_at: now, run_after: now, finished_at: null };
    const state = { status: "PENDING" as const, cancelled: 0, message: null, attempts: 0 };
    await insertDeletion(tx, { user_id, id, subscription: row.id, ...state, ...times, ...writeActor(actor) });
    return id;
  });
  context.wakeDeletionWorker();
  return deletion;
}
