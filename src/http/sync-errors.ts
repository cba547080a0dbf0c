// Error responses of the protocols that today's apps speak.
import type { Context, Hono } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { App } from "../app.ts";
import type { HttpEnv } from "./env.ts";
import { type Refusal, type RefusalCode, refuseUnknown, respondToErrors } from "./errors.ts";
import { BASIC_CHALLENGE } from "./sign-in.ts";

const STATUSES: Record<RefusalCode, ContentfulStatusCode> = {
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  gone: 404,
  invalid: 400,
  method_not_allowed: 405,
  too_large: 413,
  too_many: 429,
  unavailable: 503,
  internal: 500,
};

/** Adds a protocol's responses to errors and unknown paths: the status, and a message as JSON. */
export function serveErrors(http: Hono<HttpEnv>, app: App): void {
  http.notFound((c) => respond(refuseUnknown(http, c), c));
  respondToErrors(http, app.log, respond);
}

function respond({ code, message, extras }: Refusal, c: Context<HttpEnv>): Response {
  // After 401 gPodder switches its sync off: only for credentials that are wrong.
  const status = extras.challenge === "insufficient_scope" ? 403 : STATUSES[code];
  if (status === 401) c.header("WWW-Authenticate", BASIC_CHALLENGE);
  const text = code === "unavailable" ? "Service is temporarily unavailable" : message;
  return c.json({ message: text, ...(extras.details && { details: extras.details }) }, status);
}
