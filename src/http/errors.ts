// Errors of handlers, before a protocol makes responses of them.
import type { Context, Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ZodError } from "zod";
import { DomainError, type ErrorCode, messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { HttpEnv } from "./env.ts";
import { MOST_DETAILS } from "./limits.ts";

/** The codes that requests meet. Only commands meet the other two: in a request they are bugs. */
export type RefusalCode = Exclude<ErrorCode, "config" | "conflict">;

/** What a protocol makes a response of. */
export interface Refusal extends Pick<DomainError, "message" | "extras"> {
  code: RefusalCode;
}

/** Status in the log if the client closed the connection, as in nginx. */
const CLIENT_CLOSED = 499;

/** Responds to errors of a protocol's handlers, with Retry-After if they have it, and logs what the operator has to fix. */
export function respondToErrors(
  http: Hono<HttpEnv>,
  log: Logger,
  respond: (refusal: Refusal, c: Context<HttpEnv>) => Response | Promise<Response>,
): void {
  http.onError(async (error, c) => {
    // The user's next list waits until this one was read, which nobody does now.
    if (c.finalized) await c.res.body?.cancel();
    if (isClientGone(error, c)) return new Response(null, { status: CLIENT_CLOSED });
    const refusal = toRefusal(log, error, c);
    const { retry_after } = refusal.extras;
    if (retry_after !== undefined) c.header("Retry-After", String(retry_after));
    return respond(refusal, c);
  });
}

/** What a schema found, one line for each fault: `subscriptions.0.feed_url: required`. @param within where the value is */
export function describeFaults({ issues }: ZodError, within: string[] = []): string[] {
  return issues.slice(0, MOST_DETAILS).map(({ path, message }) => {
    const reason = message.endsWith("received undefined") ? "required" : message.replace(/^Invalid input: /, "");
    return `${[...within, ...path].join(".") || "body"}: ${reason}`;
  });
}

/** True if the client closed the connection while its body was read: an error that no client sees. */
function isClientGone(error: unknown, c: Context<HttpEnv>): boolean {
  return error instanceof DOMException && error.name === "AbortError" && c.req.raw.signal.aborted;
}

function toRefusal(log: Logger, error: unknown, c: Context<HttpEnv>): Refusal {
  const known = readKnown(error);
  const [request_id, reason] = [c.get("requestId"), messageOf(error)];
  if (!known) {
    log.error({ request_id, reason, stack: error instanceof Error ? error.stack : undefined });
    return { code: "internal", message: `Internal server error (request ${request_id})`, extras: {} };
  }
  if (known.code === "unavailable") log.error({ request_id, reason });
  return known;
}

function readKnown(error: unknown): Refusal | null {
  if (error instanceof HTTPException)
    return { code: "invalid", message: error.message, extras: { details: [`body: ${error.message}`] } };
  if (!(error instanceof DomainError)) return null;
  const { code, message, extras } = error;
  return code === "config" || code === "conflict" ? null : { code, message, extras };
}

export const NO_PATH: Refusal = { code: "not_found", message: "No such path", extras: {} };

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/**
 * The error for a request that none of a protocol's routes took. If the path has routes of other methods, it is 405 and
 * names them in Allow (RFC 9110, section 15.5.6).
 */
export function refuseUnknown(http: Hono<HttpEnv>, c: Context<HttpEnv>): Refusal {
  const hasRoute = (method: string) =>
    http.router.match(method, c.req.path)[0].some(([[, route]]) => route.method === method);
  const allowed = METHODS.filter(hasRoute);
  if (allowed.length === 0) return NO_PATH;
  if (allowed[0] === "GET") allowed.unshift("HEAD");
  c.header("Allow", allowed.join(", "));
  return { code: "method_not_allowed", message: "Method not allowed", extras: {} };
}
