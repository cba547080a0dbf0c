// Errors of handlers, before a protocol makes responses of them.
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import { DomainError, messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { HttpEnv } from "./env.ts";

/** Status in the log if the client closed the connection, as in nginx. */
export const CLIENT_CLOSED = 499;

/** True if the client closed the connection while its body was read: an error that no client sees. */
export function isClientGone(error: unknown, c: Context<HttpEnv>): boolean {
  return error instanceof DOMException && error.name === "AbortError" && c.req.raw.signal.aborted;
}

/** Makes a DomainError of anything that was thrown, and logs what the operator has to fix. */
export function toDomainError(log: Logger, error: unknown, c: Context<HttpEnv>): DomainError {
  const known = readKnown(error);
  const [request_id, reason] = [c.get("requestId"), messageOf(error)];
  if (!known) {
    log.error({ request_id, reason, stack: error instanceof Error ? error.stack : undefined });
    return new DomainError("internal", `Internal server error (request ${request_id})`, { cause: error });
  }
  if (known.code === "unavailable") log.error({ request_id, reason });
  return known;
}

function readKnown(error: unknown): DomainError | null {
  // Only commands meet these two: in a request they are bugs.
  if (error instanceof DomainError) return error.code === "config" || error.code === "conflict" ? null : error;
  if (!(error instanceof HTTPException)) return null;
  return new DomainError("invalid", error.message, { details: [`body: ${error.message}`] });
}
