// Reading and writing subscriptions as the Open Podcast API has them.
import { readFeedUrl } from "../../domain/feed-url.ts";
import type { SubscriptionState } from "../../domain/subscription-state.ts";
import { DomainError } from "../../errors.ts";
import type { ChangePage } from "../../services/subscriptions/change-feed.ts";
import type { NewSubscription } from "../../services/subscriptions/subscriptions.ts";
import { mapInTurns } from "../../turns.ts";
import { guid } from "./schemas/common.ts";
import type {
  FeedArray,
  NewSubscriptions,
  PatchedSubscription,
  Subscription,
  Subscriptions,
  SubscriptionUpdate,
} from "./schemas/subscriptions.ts";

const writeTimestamp = (milliseconds: number) => new Date(milliseconds).toISOString();

type Refusal = NewSubscriptions["failure"][number];

export async function readItems(
  sent: FeedArray["subscriptions"],
): Promise<{ items: NewSubscription[]; failure: Refusal[] }> {
  const items: NewSubscription[] = [];
  const failure: Refusal[] = [];
  await mapInTurns(sent, ({ feed_url, guid: sentGuid }) => {
    const feed = readFeedUrl(feed_url);
    const parsed = sentGuid === undefined ? null : guid.safeParse(sentGuid);
    if ("message" in feed) failure.push({ feed_url, message: feed.message });
    else if (parsed?.success === false) failure.push({ feed_url, message: "guid is not a valid UUID" });
    else items.push({ feed, guid: parsed?.data ?? null });
  });
  return { items, failure };
}

/** Reads the feed URL of a PATCH. @throws DomainError "invalid" */
export function requireFeedUrl(feed_url: string) {
  const feed = readFeedUrl(feed_url);
  if ("hash" in feed) return feed;
  throw new DomainError("invalid", feed.message, { details: [`new_feed_url: ${feed.message}`] });
}

/** A subscription as the database or a working set has it. */
type Readable = Omit<SubscriptionState, "id" | "is_subscribed" | "title"> & { is_subscribed: boolean | number };

/** A subscription under the guid `known` by which the app knows it. */
export function writeSubscription(state: Readable, known: string) {
  const item: Subscription & { subscription_changed: string } = {
    feed_url: state.feed_url,
    guid: known,
    is_subscribed: Boolean(state.is_subscribed),
    subscription_changed: writeTimestamp(state.subscription_changed),
  };
  if (known !== state.guid) item.new_guid = state.guid;
  if (state.guid_changed !== null) item.guid_changed = writeTimestamp(state.guid_changed);
  if (state.deleted !== null) item.deleted = writeTimestamp(state.deleted);
  return item;
}

/** An item of `success` in the response to a POST. */
export function writeAdded({ feed_url, guid, is_subscribed, subscription_changed }: SubscriptionState) {
  return { feed_url, guid, is_subscribed, subscription_changed: writeTimestamp(subscription_changed) };
}

/** The response to a PATCH: what it names. @param path the guid in the request's path */
export function writePatched(state: SubscriptionState, path: string, patch: SubscriptionUpdate): PatchedSubscription {
  const { is_subscribed, subscription_changed, guid_changed } = writeSubscription(state, path);
  const renamed = patch.new_guid !== undefined || path !== state.guid;
  return {
    ...(patch.new_feed_url !== undefined && { new_feed_url: state.feed_url }),
    ...(patch.is_subscribed !== undefined && { is_subscribed }),
    ...((patch.new_feed_url !== undefined || patch.is_subscribed !== undefined) && { subscription_changed }),
    ...(renamed && { new_guid: state.guid }),
    ...(renamed && guid_changed !== undefined && { guid_changed }),
  };
}

/** @param asked the request's URL, its `since` as it was sent, and the page @param next cursor of the next page */
export function writePage(
  { total, items, previous }: ChangePage,
  asked: { url: string; since: string | undefined; page: number; per_page: number },
  next: string | null,
): Subscriptions {
  const { url, since, page, per_page } = asked;
  const start = `${url}?${since ? `since=${encodeURIComponent(since)}&` : ""}`;
  const link = (number: number) => `${start}page=${number}&per_page=${per_page}`;
  return {
    total,
    page,
    per_page,
    next: next ? `${link(page + 1)}&cursor=${next}` : undefined,
    previous: previous ? link(previous) : undefined,
    subscriptions: items.map(({ row, guid }) => writeSubscription(row, guid)),
  };
}
