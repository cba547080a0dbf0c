// Wire format of the draft.
// Not from zod: schemas are registered by name, by a method that this import adds to them.
import { z } from "@hono/zod-openapi";
import { isWritable, parseDateTime } from "../../domain/date-time.ts";
import { type FeedUrl, readFeedUrl } from "../../domain/feed-url.ts";
import { isNoGuid } from "../../domain/guid.ts";
import { positive } from "../../domain/positive.ts";
import { NO_DATE_TIME, parameter, readAs, repeatable } from "../parameter.ts";

const SYNC_ID = "4648b4d7-90bf-497c-a5e7-8383d1083d76";
const FEED = "https://podnews.net/rss";
const GUID = "9b024349-ccf0-5f69-a609-6b82873eab3c";
const TIMESTAMP = "2026-11-21T08:30:00.000Z";

/** Actions in one request. */
const MOST_ACTIONS = 30;

const uuid = z.guid("Not a UUID").toLowerCase().meta({ format: "uuid" });
const date_time = z.string().meta({ format: "date-time", example: TIMESTAMP });

/** The body of every error. */
export const ErrorBody = z
  .object({
    error: z.string().meta({ description: "The error", example: "Not found" }),
    description: z.string().meta({ description: "What is wrong", example: "No such subscription" }),
  })
  .meta({ id: "Error" });

export type ErrorBody = z.infer<typeof ErrorBody>;

export const LoginRequest = z
  .object({
    username: z.string().meta({ example: "ann" }),
    password: z.string().meta({ description: "The password, or a token of the user" }),
  })
  .meta({ id: "LoginRequest" });

export const RefreshRequest = z.object({ refresh_token: z.string() }).meta({ id: "RefreshTokenRequest" });

export const LoginResponse = z
  .object({
    access_token: z.string(),
    expires_in: z.int().meta({ description: "Lifetime of the access token in seconds", example: 3600 }),
    refresh_token: z
      .string()
      .meta({ description: "The next refresh token; once it was used, earlier ones are refused" }),
    refresh_expires: date_time.meta({ description: "When the refresh token expires" }),
    refresh_endpoint: z.literal("/auth/refresh"),
  })
  .meta({ id: "LoginResponse" });

export type LoginResponse = z.infer<typeof LoginResponse>;

export const Entity = z
  .object({
    sync_id: uuid.meta({ description: "The server's id of the subscription", example: SYNC_ID }),
    guid: uuid.meta({ example: GUID }),
    feed_url: z.string().meta({ format: "url", example: FEED }),
    subscribed_at: date_time,
    unsubscribed_at: date_time.optional().meta({ description: "Absent while it is subscribed" }),
  })
  .meta({ id: "Subscription" });

export type Entity = z.infer<typeof Entity>;

const ACTIONS = ["subscribe", "unsubscribe", "update"] as const;

function readTime(text: string): number | null {
  const time = parseDateTime(text);
  return time !== null && isWritable(time) ? time : null;
}

const occurred_at = readAs(readTime, NO_DATE_TIME).meta({
  format: "date-time",
  description: "When it occurred, by the client's clock",
  example: TIMESTAMP,
});

const feed_url = z
  .string()
  .transform((text, context): FeedUrl => {
    const feed = readFeedUrl(text);
    if ("hash" in feed) return feed;
    context.addIssue({ code: "custom", message: feed.message });
    return z.NEVER;
  })
  .meta({ format: "url", example: FEED });

/** Feeds without a guid have none to send, though the draft requires it. */
const optionalGuid = z.preprocess(
  (value) => (typeof value === "string" && (value === "" || isNoGuid(value)) ? null : value),
  uuid.nullish(),
);

const ActionData = z.object({
  sync_id: uuid.nullish().meta({ description: "Of unsubscribe and update; without it feed_url or guid count" }),
  guid: optionalGuid.meta({ type: "string", format: "uuid", example: GUID }),
  feed_url: feed_url.nullish(),
});

/** An action that can be read; another one is rejected alone. */
export const Action = z
  .object({
    type: z.literal("subscription", "only subscription is known"),
    action: z.enum(ACTIONS, "not one of subscribe, unsubscribe, update"),
    action_id: uuid.meta({ description: "A UUID of the client; sent again, the action is not done again" }),
    occurred_at,
    data: ActionData,
  })
  .meta({
    id: "SyncAction",
    example: {
      type: "subscription",
      action: "subscribe",
      action_id: "a651fd88-555d-4ac4-bdbb-e35846aa4da9",
      occurred_at: TIMESTAMP,
      data: { guid: GUID, feed_url: FEED },
    },
  });

/** What a result repeats of its action. */
const named = {
  type: z.string().optional(),
  action: z.string().optional(),
  action_id: z.string().optional(),
};

export const SyncRequest = z
  .object({
    requests: z
      .array(z.looseObject(named))
      .max(MOST_ACTIONS, `More than ${MOST_ACTIONS} actions`)
      .meta({ type: "array", items: { $ref: "#/components/schemas/SyncAction" }, maxItems: MOST_ACTIONS }),
  })
  .meta({ id: "SyncRequest" });

export type SyncRequest = z.infer<typeof SyncRequest>;

const ActionResult = z
  .object({
    ...named,
    status: z.enum(["applied", "ignored", "rejected"]),
    reason: z.string().optional().meta({ description: "Why it was rejected" }),
    data: z.unknown().meta({ description: "The subscription as it is now; of a rejected action, what was sent" }),
  })
  .meta({ id: "SyncActionResult" });

export const SyncResponse = z
  .object({ results: z.array(ActionResult).meta({ description: "In the order of the requests" }) })
  .meta({ id: "SyncActionResponse" });

const flag = parameter(z.enum(["true", "false"], "Neither true nor false"));
const limit = parameter(positive);
const limitMeta = (standard: number) => ({
  type: "integer" as const,
  minimum: 1,
  description: `Items in a page. Default: ${standard}. Larger values than the server's limit are reduced to it`,
});

export const DEFAULT_LIMITS = { sync: 50, subscriptions: 30 };

const INCLUDED = ["all", "subscriptions"];

export const SyncQuery = z.object({
  since: parameter(occurred_at).meta({
    type: "string",
    format: "date-time",
    description: "Only what changed later than this, a last_updated of the server. Default: everything",
  }),
  limit: limit.meta(limitMeta(DEFAULT_LIMITS.sync)),
  include: repeatable(
    z
      .union([z.string(), z.array(z.string())])
      .refine(
        (value) => [value].flat().every((one) => one.split(",").every((name) => INCLUDED.includes(name.trim()))),
        {
          error: `Not one of ${INCLUDED.join(", ")}`,
        },
      ),
  ).meta({ type: "string", enum: INCLUDED, description: "Kinds of entities. Default: all" }),
  include_own: flag.meta({
    type: "boolean",
    description: "Whether to give what this Client-ID changed last. Default: false; without Client-ID, true",
  }),
});

export const ListQuery = z.object({
  include_unsubscribed: flag.meta({ type: "boolean", description: "Default: false" }),
  since: parameter(z.string().regex(/^\d{1,15}$/, "Not a cursor of this server")).meta({
    type: "string",
    description: "Where the page begins; opaque, comes with next_cursor",
  }),
  limit: limit.meta(limitMeta(DEFAULT_LIMITS.subscriptions)),
});

export const SyncPage = z
  .object({
    results: z.array(
      z.object({
        type: z.literal("subscription"),
        last_updated: date_time.meta({
          description: "When the server got the change; rising, one for a change of two subscriptions",
        }),
        data: Entity,
      }),
    ),
    has_next: z.boolean(),
    has_more: z.boolean().meta({ description: "The same" }),
    next_since: z.string().optional().meta({ format: "url", description: "The next page" }),
  })
  .meta({ id: "SyncPage" });

export type SyncPage = z.infer<typeof SyncPage>;

export const Subscriptions = z
  .object({
    results: z.array(Entity),
    has_next: z.boolean(),
    next_cursor: z.string().optional().meta({ format: "url", description: "The next page" }),
  })
  .meta({ id: "Subscriptions" });

export const ClientHeaders = z.object({
  "client-id": uuid.optional().meta({ description: "A UUID that the installation of the app has made for itself" }),
});

export const EntityParams = z.object({ sync_id: uuid });

const Version = z.object({
  status: z.enum(["STABLE", "UNSTABLE", "DEPRECATED"]),
  root: z.string().meta({ description: "Path of the routes", example: "/v1" }),
});
const Versions = z.record(z.string(), Version);
const Features = z.object({ "urn:opa:core": Versions });

/** Upstream's text has the features themselves, its schema has them in `capabilities`. */
export const Capabilities = Features.extend({ capabilities: Features }).meta({ id: "Capabilities" });
