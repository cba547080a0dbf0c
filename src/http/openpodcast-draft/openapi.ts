// The pieces of /openapi-draft.json.
import type { ZodType } from "zod";
import type { ErrorCode } from "../../errors.ts";
import { type Api, describeChallenge, LICENSE, RETRY_AFTER } from "../openapi.ts";
import { RESPONSES } from "./errors.ts";
import { Action, ErrorBody } from "./schemas.ts";

/** The commit of api-specs whose text is served: pull request 171. */
export const COMMIT = "8d03a20";

/** @param basePath of the public URL */
export const describeDraft = (basePath: string) => ({
  openapi: "3.1.0",
  info: {
    title: "podkeep, draft of the next Open Podcast API",
    version: COMMIT,
    description:
      "Pull request 171 of OpenPodcastAPI/api-specs, and the capabilities of pull request 133. It may change with them.",
    license: LICENSE,
  },
  servers: [{ url: basePath || "/" }],
});

export function jsonBody<Schema extends ZodType>(description: string, schema: Schema) {
  return { description, content: { "application/json": { schema } } };
}

const NAMES = {
  invalid: "BadRequest",
  unauthorized: "NotAuthorized",
  forbidden: "Forbidden",
  not_found: "NotFound",
  too_large: "TooLarge",
  too_many: "TooManyRequests",
  internal: "InternalServerError",
  unavailable: "Unavailable",
} satisfies Partial<Record<ErrorCode, string>>;

type DescribedError = keyof typeof NAMES;

const HEADERS: Partial<Record<DescribedError, Record<string, ReturnType<typeof describeChallenge>>>> = {
  unauthorized: { "WWW-Authenticate": describeChallenge('Bearer realm="podkeep", error="invalid_token"') },
  too_many: { "Retry-After": RETRY_AFTER },
  unavailable: { "Retry-After": RETRY_AFTER },
};

/** The error responses of an operation: the given ones and those that any may have. */
export function describeErrors(...codes: DescribedError[]): Record<never, { $ref: string }> {
  const all = [...codes, "too_many", "internal", "unavailable"] as const;
  return Object.fromEntries(all.map((code) => [RESPONSES[code][0], { $ref: `#/components/responses/${NAMES[code]}` }]));
}

/** What an operation needs to be signed in. */
export const SIGNED_IN = { security: [{ bearerAuth: [] }] };

/** For an operation without a token: generators and linters take a missing `security` for a mistake. */
export const NO_TOKEN = { security: [] };

/** Adds what the operations refer to by name. */
export function registerComponents({ openAPIRegistry: registry }: Api): void {
  registry.registerComponent("securitySchemes", "bearerAuth", {
    type: "http",
    scheme: "bearer",
    description: "An access token of /auth/login, or a token of the user",
  });
  registry.register("Error", ErrorBody);
  registry.register("SyncAction", Action);
  for (const code of Object.keys(NAMES) as DescribedError[]) {
    const headers = HEADERS[code];
    registry.registerComponent("responses", NAMES[code], {
      description: RESPONSES[code][1],
      ...(headers && { headers }),
      content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
    });
  }
}
