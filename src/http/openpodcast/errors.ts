// The one table from error code to HTTP answer, and the body that all of them share. The texts of 401, 404, 405 and 410 are
// those that the Open Podcast API publishes.
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { ZodError } from "zod";
import { DomainError, type ErrorCode, messageOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import type { HttpEnv } from "../env.ts";
import type { ErrorBody } from "./schemas/common.ts";

type Code = ErrorCode | "internal";

export const ANSWERS = {
  unauthorized: [401, "User not authorized"],
  not_found: [404, "Resource not found"],
  invalid: [405, "Input could not be validated"],
  method_not_allowed: [405, "Method not allowed"],
  gone: [410, "Subscription has been deleted"],
  too_large: [413, "Request body is too large"],
  too_many: [429, "Too many requests"],
  internal: [500, "Internal server error"],
  unavailable: [503, "Service is temporarily unavailable"],
  // Commands alone meet these two.
  config: [500, "Internal server error"],
  conflict: [500, "Internal server error"],
} as const satisfies Record<Code, [ContentfulStatusCode, string]>;

const MOST_DETAILS = 20;
/** As nginx logs it; nobody is left to read this answer. */
const CLIENT_WENT_AWAY = 499;

/**
 * Turns whatever a handler threw into an answer. What the operator has to mend, and what nobody foresaw, goes to the log
 * with the request's id.
 */
export function answerError(log: Logger, error: unknown, c: Context<HttpEnv>): Response {
  if (isAbort(error, c)) return new Response(null, { status: CLIENT_WENT_AWAY });
  const known = toDomainError(error);
  const [request_id, reason] = [c.get("requestId"), messageOf(error)];
  if (!known) {
    log.error({ request_id, reason, stack: error instanceof Error ? error.stack : undefined });
    return answer(c, "internal", `Internal server error (request ${request_id})`);
  }
  if (known.code === "unavailable") log.error({ request_id, reason });
  const { details, retry_after, challenge, allow } = known.extras;
  if (retry_after !== undefined) c.header("Retry-After", String(retry_after));
  if (allow) c.header("Allow", allow.join(", "));
  if (known.code === "unauthorized") c.header("WWW-Authenticate", challengeOf(challenge, known.message));
  return answer(c, known.code, ANSWERS[known.code][1], known.code === "invalid" ? details : undefined);
}

// A phone that loses its network in the middle of an upload is no error of the server.
function isAbort(error: unknown, c: Context<HttpEnv>): boolean {
  return error instanceof DOMException && error.name === "AbortError" && c.req.raw.signal.aborted;
}

function answer(c: Context<HttpEnv>, code: Code, message: string, details?: string[]): Response {
  const status = ANSWERS[code][0];
  const { body: sent, bodyUsed } = c.req.raw;
  // The rest of a body that nobody reads would keep its connection, and with it the server's end, waiting.
  if (code === "too_large" || (sent && !bodyUsed)) c.header("Connection", "close");
  const body: ErrorBody = {
    code: String(status),
    message,
    ...(details ? { details: details.slice(0, MOST_DETAILS) } : {}),
  };
  return c.json(body, status);
}

// RFC 6750 section 3: without any credential, the challenge bears no error.
function challengeOf(error: string | undefined, description: string): string {
  if (!error) return 'Bearer realm="podkeep"';
  const scope = error === "insufficient_scope" ? ', scope="write"' : "";
  return `Bearer realm="podkeep", error="${error}", error_description="${description}"${scope}`;
}

function toDomainError(error: unknown): DomainError | null {
  if (error instanceof DomainError) return ANSWERS[error.code][0] === 500 ? null : error;
  if (!(error instanceof HTTPException)) return null;
  if (error.status === 413) return new DomainError("too_large", error.message);
  return new DomainError("invalid", error.message, { details: [`body: ${error.message}`] });
}

/** Where and why input is wrong, one line for each fault: `subscriptions.0.feed_url: required`. */
export function invalidInput(error: ZodError): DomainError {
  const details = error.issues.slice(0, MOST_DETAILS).map(({ path, message }) => {
    const reason = message.endsWith("received undefined") ? "required" : message.replace(/^Invalid input: /, "");
    return `${path.join(".") || "body"}: ${reason}`;
  });
  return new DomainError("invalid", "Input could not be validated", { details });
}
