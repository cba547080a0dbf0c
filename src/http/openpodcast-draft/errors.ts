// Error responses of the draft.
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { HttpEnv } from "../env.ts";
import type { Refusal, RefusalCode } from "../errors.ts";
import type { ErrorBody } from "./schemas.ts";

export const RESPONSES = {
  invalid: [400, "Bad request"],
  unauthorized: [401, "Unauthorized"],
  forbidden: [403, "Forbidden"],
  not_found: [404, "Not found"],
  gone: [404, "Not found"],
  method_not_allowed: [405, "Method not allowed"],
  too_large: [413, "Request too large"],
  too_many: [429, "Too many requests"],
  internal: [500, "Internal server error"],
  unavailable: [503, "Service unavailable"],
} as const satisfies Record<RefusalCode, [ContentfulStatusCode, string]>;

export function respondToError({ code, message, extras }: Refusal, c: Context<HttpEnv>): Response {
  const { challenge, details } = extras;
  // A token that may only read is good: another login would not help.
  const [status, error] = RESPONSES[challenge === "insufficient_scope" ? "forbidden" : code];
  if (status === 401)
    c.header("WWW-Authenticate", `Bearer realm="podkeep"${challenge ? `, error="${challenge}"` : ""}`);
  const description = code === "unavailable" ? "Try again later" : (details ?? [message]).join("; ");
  return c.json({ error, description } satisfies ErrorBody, status);
}
