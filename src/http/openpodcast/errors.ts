// Error responses of the Open Podcast API; the texts of 401, 404, 405 and 410 are the published ones.
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { ZodError } from "zod";
import { DomainError, type ErrorCode } from "../../errors.ts";
import type { HttpEnv } from "../env.ts";
import type { ErrorBody } from "./schemas/common.ts";

export const RESPONSES = {
  unauthorized: [401, "User not authorized"],
  forbidden: [403, "Forbidden"],
  not_found: [404, "Resource not found"],
  invalid: [405, "Input could not be validated"],
  method_not_allowed: [405, "Method not allowed"],
  gone: [410, "Subscription has been deleted"],
  too_large: [413, "Request body is too large"],
  too_many: [429, "Too many requests"],
  unavailable: [503, "Service is temporarily unavailable"],
  internal: [500, "Internal server error"],
  config: [500, "Internal server error"],
  conflict: [500, "Internal server error"],
} as const satisfies Record<ErrorCode, [ContentfulStatusCode, string]>;

const MOST_DETAILS = 20;

export function respondToError({ code, message, extras }: DomainError, c: Context<HttpEnv>): Response {
  const { details, retry_after, challenge, allow } = extras;
  if (retry_after !== undefined) c.header("Retry-After", String(retry_after));
  if (allow) c.header("Allow", allow.join(", "));
  if (code === "unauthorized") c.header("WWW-Authenticate", challengeOf(challenge, message));
  const [status, published] = RESPONSES[code];
  const error: ErrorBody = {
    code: String(status),
    message: code === "internal" ? message : published,
    ...(code === "invalid" && details && { details: details.slice(0, MOST_DETAILS) }),
  };
  return c.json(error, status);
}

// RFC 6750 section 3: without any credential, the challenge has no error.
function challengeOf(error: string | undefined, description: string): string {
  if (!error) return 'Bearer realm="podkeep"';
  const scope = error === "insufficient_scope" ? ', scope="write"' : "";
  return `Bearer realm="podkeep", error="${error}", error_description="${description}"${scope}`;
}

/** The error for invalid input, with one line for each fault: `subscriptions.0.feed_url: required`. */
export function invalidInput(error: ZodError): DomainError {
  const details = error.issues.slice(0, MOST_DETAILS).map(({ path, message }) => {
    const reason = message.endsWith("received undefined") ? "required" : message.replace(/^Invalid input: /, "");
    return `${path.join(".") || "body"}: ${reason}`;
  });
  return new DomainError("invalid", "Input could not be validated", { details });
}
