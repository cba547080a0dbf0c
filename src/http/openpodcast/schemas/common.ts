// Wire formats that all resources share: guids, feed URLs, timestamps, errors.
// Not from zod: ErrorBody is registered by name, by a method that this import adds to schemas.
import { z } from "@hono/zod-openapi";
import { guid as anyGuid } from "../../../domain/guid.ts";
import { once } from "../../../once.ts";

/** As requests and responses have it. */
export const guid = anyGuid.meta({ format: "uuid", example: "9b024349-ccf0-5f69-a609-6b82873eab3c" });

/** A feed URL in a response, exactly as it was sent. */
export const feed_url = () => z.string().meta({ format: "url", example: "https://podnews.net/rss" });

/** A timestamp: RFC 3339 in UTC with milliseconds. */
export const date_time = () => z.string().meta({ format: "date-time", example: "2026-11-21T08:30:00.000Z" });

/** The body of every error. */
export const ErrorBody = once(() =>
  z
    .object({
      code: z.string().meta({ description: "The HTTP status as text", example: "404" }),
      message: z.string().meta({ example: "Resource not found" }),
      details: z
        .array(z.string())
        .optional()
        .meta({ description: "Where the input is wrong and why", example: ["subscriptions.0.feed_url: required"] }),
    })
    .meta({ id: "ErrorBody", example: { code: "404", message: "Resource not found" } }),
);

export type ErrorBody = z.infer<ReturnType<typeof ErrorBody>>;
