// Error responses of the Open Podcast API; the texts of 401, 404, 405 and 410 are the published ones.
import type { Context } from "hono";
import { routePath } from "hono/route";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { HttpEnv } from "../env.ts";
import type { Refusal, RefusalCode } from "../errors.ts";
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
} as const satisfies Record<RefusalCode, [ContentfulStatusCode, string]>;

/** The methods of each path, as it is without /v1. */
export type Methods = ReadonlyMap<string, ReadonlySet<string>>;

export function respondToError(error: Refusal, c: Context<HttpEnv>, methods: Methods): Response {
  const { code, message } = error;
  const { challenge } = error.extras;
  if (code === "unauthorized") c.header("WWW-Authenticate", challengeOf(challenge, message));
  const [status, published] = RESPONSES[code];
  if (status === 405) c.header("Allow", [...methodsOf(c, methods)].join(", "));
  const body: ErrorBody = {
    code: String(status),
    message: code === "internal" ? message : published,
    ...detailsOf(error),
  };
  return c.json(body, status);
}

/** What an app must change: the published message is the same for every input. */
function detailsOf({ code, message, extras: { details } }: Refusal): Pick<ErrorBody, "details"> {
  if (code === "too_large") return { details: [message] };
  return code === "invalid" && details ? { details } : {};
}

// RFC 9110 section 15.5.6: every 405 names the methods of its path. A bad Host on an unknown path has all.
function methodsOf(c: Context<HttpEnv>, methods: Methods): Iterable<string> {
  const path = routePath(c, -1).replace(/^\/v1(?=\/)/, "");
  return methods.get(path) ?? new Set([...methods.values()].flatMap((known) => [...known]));
}

// RFC 6750 section 3: without any credential, the challenge has no error.
function challengeOf(error: string | undefined, description: string): string {
  if (!error) return 'Bearer realm="podkeep"';
  const scope = error === "insufficient_scope" ? ', scope="write"' : "";
  return `Bearer realm="podkeep", error="${error}", error_description="${description}"${scope}`;
}
