// What a listener can do with subscriptions: add, read, change, and ask for their deletion.

import type { SubscriptionTable } from "../db/schema.ts";
import { type Feed, readFeed } from "../domain/feed-url.ts";
import { addFeed, changeFeed, changeGuid, changeSubscribed } from "../domain/subscription-rules.ts";
import { DomainError } from "../errors.ts";
import { guid as guidSchema } from "../http/openpodcast/schemas/common.ts";
import type { DeletionReceipt } from "../http/openpodcast/schemas/deletions.ts";
import { RECEIVED } from "../http/openpodcast/schemas/deletions.ts";
import type {
  AddedSubscriptions,
  NewSubscriptions,
  PatchedSubscription,
  Subscription,
  SubscriptionPatch,
} from "../http/openpodcast/schemas/subscriptions.ts";
import { findPending, insertDeletion } from "../store/deletions.ts";
import { findByGuid } from "../store/subscriptions.ts";
import type { Context } from "./context.ts";
import type { Read } from "./reads.ts";
import { transact } from "./transact.ts";
import { type Entry, entryByGuid, entryOf, loadLibrary, saveLibrary } from "./working-set.ts";

const formatStamp = (stamp: number) => new Date(stamp).toISOString();

/** A subscription on the wire, under the guid `known` by which a client knows it. */
export function describe(row: Omit<SubscriptionTable, "user_id" | "id" | "changed_at">, known: string) {
  const item: Subscription & { subscription_changed: string } = {
    feed_url: row.feed_url,
    guid: known,
    is_subscribed: row.is_subscribed === 1,
    subscription_changed: formatStamp(row.subscription_changed),
  };
  if (known !== row.guid) item.new_guid = row.guid;
  if (row.guid_changed !== null) item.guid_changed = formatStamp(row.guid_changed);
  if (row.deleted !== null) item.deleted = formatStamp(row.deleted);
  return item;
}

/**
 * Reads one subscription by any guid that it ever had.
 * @throws DomainError "not_found", or "gone" where it was deleted
 */
export async function getSubscription(
  { database }: Context,
  user_id: string,
  guid: string,
): Promise<Read<Subscription>> {
  const [row] = await database.read((tx) => findByGuid(tx, { user_id, guid }));
  if (!row) throw new DomainError("not_found", "There is no such subscription");
  if (row.deleted !== null) throw new DomainError("gone", "The subscription was deleted");
  return { clock: row.clock, body: describe(row, guid) };
}

interface NewItem {
  feed: Feed;
  guid: string | null;
}

type Refusal = AddedSubscriptions["failure"][number];

function readItem({ feed_url, guid }: NewSubscriptions["subscriptions"][number]): NewItem | Refusal {
  const feed = readFeed(feed_url);
  if ("message" in feed) return { feed_url, message: feed.message };
  if (guid === undefined) return { feed, guid: null };
  const parsed = guidSchema.safeParse(guid);
  return parsed.success ? { feed, guid: parsed.data } : { feed_url, message: "guid is not a valid UUID" };
}

/**
 * Adds feeds; each item is decided by itself, and the answer shows the state after the whole request.
 * @throws DomainError "too_large" where there are more items than the settings allow
 */
export async function addSubscriptions(
  context: Context,
  user_id: string,
  { subscriptions }: NewSubscriptions,
): Promise<AddedSubscriptions> {
  if (subscriptions.length > context.config.max_items) throw new DomainError("too_large", "Too many items");
  const items: NewItem[] = [];
  const failure: Refusal[] = [];
  for (const item of subscriptions.map(readItem)) {
    if ("feed" in item) items.push(item);
    else failure.push(item);
  }
  if (items.length === 0) return { success: [], failure };
  const success = await transact(context, user_id, async (tx) => {
    const guids = items.map(({ feed, guid }) => guid ?? feed.computed_guid);
    const library = await loadLibrary(
      tx,
      guids,
      items.map(({ feed }) => feed.feed),
    );
    const ids = items.map(({ feed, guid }) => addFeed(library, feed, guid).id);
    await saveLibrary(library, context.clock.now());
    return ids.map((id) => entryOf(library, id)).filter((entry) => entry !== undefined);
  });
  return { success: success.map(describeAdded), failure };
}

function describeAdded({ feed_url, guid, is_subscribed, subscription_changed }: Entry) {
  return {
    feed_url,
    guid,
    is_subscribed: is_subscribed === 1,
    subscription_changed: formatStamp(subscription_changed),
  };
}

/**
 * Changes a subscription by any guid that it ever had: first its guid, then its address, then whether it is subscribed.
 * @throws DomainError "not_found", or "invalid" where the new address is none
 */
export async function patchSubscription(
  context: Context,
  user_id: string,
  path: string,
  patch: SubscriptionPatch,
): Promise<PatchedSubscription> {
  const feed = patch.new_feed_url === undefined ? null : readFeed(patch.new_feed_url);
  if (feed && "message" in feed) {
    throw new DomainError("invalid", feed.message, { details: [`new_feed_url: ${feed.message}`] });
  }
  const entry = await transact(context, user_id, async (tx) => {
    const library = await loadLibrary(tx, patch.new_guid ? [path, patch.new_guid] : [path], feed ? [feed.feed] : []);
    let entry = entryByGuid(library, path);
    if (!entry || entry.deleted !== null) throw new DomainError("not_found", "There is no such subscription");
    if (patch.new_guid !== undefined) entry = changeGuid(library, entry, path, patch.new_guid);
    if (feed) changeFeed(library, entry, feed);
    if (patch.is_subscribed !== undefined) changeSubscribed(library, entry, patch.is_subscribed);
    await saveLibrary(library, context.clock.now());
    return entry;
  });
  return describePatched(entry, path, patch);
}

function describePatched(entry: Entry, path: string, patch: SubscriptionPatch): PatchedSubscription {
  const { is_subscribed, subscription_changed, guid_changed } = describe(entry, path);
  const renamed = patch.new_guid !== undefined || path !== entry.guid;
  return {
    ...(patch.new_feed_url !== undefined && { new_feed_url: entry.feed_url }),
    ...(patch.is_subscribed !== undefined && { is_subscribed }),
    ...((patch.new_feed_url !== undefined || patch.is_subscribed !== undefined) && { subscription_changed }),
    ...(renamed && { new_guid: entry.guid }),
    ...(renamed && guid_changed !== undefined && { guid_changed }),
  };
}

/**
 * Asks for a subscription to be deleted; asked again while that is pending, it gives the same deletion_id.
 * @throws DomainError "not_found" where there is none, or it was deleted already
 */
export async function requestDeletion(context: Context, user_id: string, guid: string): Promise<DeletionReceipt> {
  const deletion_id = await transact(context, user_id, async ({ tx, nextDeletion }) => {
    const [row] = await findByGuid(tx, { user_id, guid });
    if (!row || row.deleted !== null) throw new DomainError("not_found", "There is no such subscription");
    const [pending] = await findPending(tx, { user_id }, [{ subscription: row.id }]);
    if (pending) return pending.id;
    const id = nextDeletion();
    await insertDeletion(tx, { user_id, id, subscription: row.id, requested_at: context.clock.now() });
    return id;
  });
  context.wakeWorker();
  return { deletion_id, message: RECEIVED };
}
