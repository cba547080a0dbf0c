// Wire format of subscriptions. Schemas of responses are made for /openapi.json only.
import { z } from "zod";
import { parseDateTime } from "../../../domain/date-time.ts";
import { positive } from "../../../domain/positive.ts";
import { once } from "../../../once.ts";
import type { ChangePosition } from "../../../services/subscriptions/change-feed.ts";
import { listOf } from "../../limits.ts";
import { NO_DATE_TIME, parameter, readAs } from "../../parameter.ts";
import { date_time, feed_url, guid } from "./common.ts";

const GUID = "9b024349-ccf0-5f69-a609-6b82873eab3c";
const FEED = "https://podnews.net/rss";
const TIMESTAMP = "2026-11-21T08:30:00.000Z";
const SUBSCRIPTION = { feed_url: FEED, guid: GUID, is_subscribed: true, subscription_changed: TIMESTAMP };

export const Subscription = once(() =>
  z
    .object({
      feed_url: feed_url(),
      guid: guid.meta({ description: "The guid of the request; in the change feed, one that the app may know" }),
      is_subscribed: z.boolean().meta({ description: "Whether the user is subscribed" }),
      subscription_changed: date_time().optional().meta({ description: "When the feed URL or the flag changed last" }),
      new_guid: guid.optional().meta({ description: "The guid that replaced this one" }),
      guid_changed: date_time().optional().meta({ description: "When a guid of the subscription was replaced last" }),
      deleted: date_time().optional().meta({ description: "When it was deleted; only then present" }),
    })
    .meta({ id: "Subscription", example: SUBSCRIPTION }),
);

export type Subscription = z.infer<ReturnType<typeof Subscription>>;

/** Writes the position of a page's last item as a cursor: base64url, opaque to apps. */
export function writeCursor({ changed_at, guid }: ChangePosition): string {
  return Buffer.from(`${changed_at}/${guid}`).toString("base64url");
}

/** Reads a cursor; null if it is none. */
export function readCursor(text: string): ChangePosition | null {
  const match = /^(\d{1,16})\/([0-9a-f-]{36})$/.exec(Buffer.from(text, "base64url").toString("latin1"));
  return match?.[1] && match[2] ? { changed_at: Number(match[1]), guid: match[2] } : null;
}

const since = readAs(parseDateTime, NO_DATE_TIME).meta({
  format: "date-time",
  description: "Only what changed later than this, a timestamp of the server. Default: everything",
  example: TIMESTAMP,
});

export const SubscriptionQuery = z.object({
  since: parameter(since),
  page: parameter(positive).meta({ type: "integer", minimum: 1, description: "Page number. Default: 1" }),
  per_page: parameter(positive).meta({
    type: "integer",
    minimum: 1,
    description: "Items in a page. Default: 50. Larger values than the server's limit are reduced to it",
  }),
  cursor: parameter(readAs(readCursor, "Not a cursor of this server")).meta({
    type: "string",
    pattern: "^[A-Za-z0-9_-]*$",
    description: "Where the page begins; opaque, comes with `next`",
  }),
});

export type SubscriptionQuery = z.infer<typeof SubscriptionQuery>;

export const Subscriptions = once(() =>
  z
    .object({
      total: z.int().meta({ description: "Items on all pages" }),
      page: z.int().meta({ description: "Number of this page" }),
      per_page: z.int().meta({ description: "The value in effect" }),
      next: z.string().optional().meta({ format: "url", description: "The next page; absent on the last one" }),
      previous: z.string().optional().meta({ format: "url", description: "The page before; absent on the first one" }),
      subscriptions: z.array(Subscription()).meta({ description: "Oldest change first" }),
    })
    .meta({ id: "Subscriptions", example: { total: 1, page: 1, per_page: 50, subscriptions: [SUBSCRIPTION] } }),
);

export type Subscriptions = z.infer<ReturnType<typeof Subscriptions>>;

const Feed = z
  .object({
    feed_url: z.string().meta({ description: "An http or https URL; an item with another one fails", example: FEED }),
    // Of any type here: a bad guid fails its own item, not the request.
    guid: z.unknown().optional().meta({
      type: "string",
      description: "The podcast:guid of the feed, if it has one: a UUID; an item with another one fails",
      example: GUID,
    }),
  })
  .meta({ id: "Feed", example: { feed_url: FEED, guid: GUID } });

export const feedArray = (config: Parameters<typeof listOf>[1]) =>
  z
    .object({
      subscriptions: listOf(Feed, config),
    })
    .meta({
      id: "FeedArray",
      example: { subscriptions: [{ feed_url: FEED, guid: GUID }, { feed_url: "podnews.net/rss" }] },
    });

export type FeedArray = z.infer<ReturnType<typeof feedArray>>;

const NewSubscription = once(() =>
  z
    .object({ feed_url: feed_url(), guid, is_subscribed: z.boolean(), subscription_changed: date_time() })
    .meta({ id: "NewSubscription", example: SUBSCRIPTION }),
);

const FAILED = { feed_url: "podnews.net/rss", message: "No protocol present" };

const FailedSubscription = once(() =>
  z
    .object({
      feed_url: z.string().meta({ description: "As it was sent", example: FAILED.feed_url }),
      message: z.string().meta({ description: "Why it was not added", example: FAILED.message }),
    })
    .meta({ id: "FailedSubscription", example: FAILED }),
);

export const NewSubscriptions = once(() =>
  z
    .object({ success: z.array(NewSubscription()), failure: z.array(FailedSubscription()) })
    .meta({ id: "NewSubscriptions", example: { success: [SUBSCRIPTION], failure: [FAILED] } }),
);

export type NewSubscriptions = z.infer<ReturnType<typeof NewSubscriptions>>;

export const SubscriptionUpdate = z
  .object({
    new_feed_url: z
      .string()
      .optional()
      .meta({ format: "url", pattern: "^[Hh][Tt][Tt][Pp][Ss]?://", example: "https://podnews.net/feed.xml" }),
    new_guid: guid.optional(),
    is_subscribed: z.boolean().optional(),
  })
  .meta({ id: "SubscriptionUpdate", example: { is_subscribed: false } });

export type SubscriptionUpdate = z.infer<typeof SubscriptionUpdate>;

export const PatchedSubscription = once(() =>
  z
    .object({
      new_feed_url: feed_url().optional(),
      is_subscribed: z.boolean().optional(),
      subscription_changed: date_time().optional(),
      new_guid: guid.optional(),
      guid_changed: date_time().optional(),
    })
    .meta({ id: "PatchedSubscription", example: { is_subscribed: false, subscription_changed: TIMESTAMP } }),
);

export type PatchedSubscription = z.infer<ReturnType<typeof PatchedSubscription>>;
