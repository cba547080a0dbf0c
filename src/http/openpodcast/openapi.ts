// The pieces of /openapi.json: its names are those of the published document.
import type { ZodType } from "zod";
import type { ErrorCode } from "../../errors.ts";
import { VERSION } from "../../version.ts";
import { type Api, describeChallenge, describeHeader, LICENSE, RETRY_AFTER } from "../openapi.ts";
import { RESPONSES } from "./errors.ts";
import { ErrorBody } from "./schemas/common.ts";

const TAG = "Subscriptions";

/** @param basePath of the public URL: clients that are generated append paths to a server's URL */
export const describeApi = (basePath: string) => ({
  openapi: "3.1.0",
  info: {
    title: "podkeep",
    version: VERSION,
    description:
      "Keeps a user's podcast subscriptions and syncs them between apps: the subscriptions part of the Open Podcast API.",
    license: LICENSE,
  },
  servers: [{ url: `${basePath}/v1` }, { url: basePath || "/" }],
  tags: [{ name: TAG, description: "All actions relating to subscription management" }],
});

/** What describes an operation to app authors. */
interface Operation {
  operationId: string;
  summary: string;
  description: string;
}

const common = { tags: [TAG], security: [{ podcast_auth: [] }] };

/** What all operations share that only read; they are GETs. */
export const reads = (operation: Operation) => ({
  ...common,
  ...operation,
  method: "get" as const,
  parameters: [{ $ref: "#/components/parameters/IfNoneMatch" }],
});

/** What all operations share that change something. */
export const writes = <Method extends "post" | "patch" | "delete">(method: Method, operation: Operation) => ({
  ...common,
  ...operation,
  method,
});

/** @param schema called for the document only */
export function jsonBody<Schema extends ZodType>(description: string, schema: () => Schema) {
  const content = {
    get schema() {
      return schema();
    },
  };
  return { description, content: { "application/json": content } };
}

const ETag = describeHeader("Names this state of the response; send it back as If-None-Match", {
  type: "string",
  examples: ['"mwqq6b7w-27awak303lysx"'],
});

/** A response to GET; sent again with its ETag, the response is 304 if nothing has changed. */
export function conditionalBody<Schema extends ZodType>(description: string, schema: () => Schema) {
  return { ...jsonBody(description, schema), headers: { ETag } };
}

export const notModified = { 304: { $ref: "#/components/responses/NotModified" } };

/** Errors by their names in the document, with the headers that they have. */
const ERRORS = {
  unauthorized: {
    name: "Unauthorized",
    headers: {
      "WWW-Authenticate": describeChallenge(
        'Bearer realm="podkeep", error="invalid_token", error_description="The token is mistyped"',
      ),
    },
  },
  not_found: { name: "NotFound" },
  invalid: {
    name: "ValidationException",
    headers: { Allow: describeHeader("The methods of the path", { type: "string", examples: ["GET, HEAD, POST"] }) },
  },
  gone: { name: "Gone" },
  too_large: { name: "TooLarge" },
  too_many: { name: "TooManyRequests", headers: { "Retry-After": RETRY_AFTER } },
  internal: { name: "InternalError" },
  unavailable: { name: "Unavailable", headers: { "Retry-After": RETRY_AFTER } },
} satisfies Partial<Record<ErrorCode, { name: string; headers?: object }>>;

type DescribedError = keyof typeof ERRORS;

/** The error responses of an operation: the given ones and those that any may have. */
export function describeErrors(...codes: DescribedError[]): Record<never, { $ref: string }> {
  const all = [...codes, "too_many", "internal", "unavailable"] as const;
  return Object.fromEntries(
    all.map((code) => [RESPONSES[code][0], { $ref: `#/components/responses/${ERRORS[code].name}` }]),
  );
}

/** Adds what the operations refer to by name. */
export function registerComponents({ openAPIRegistry: registry }: Api): void {
  registry.registerComponent("securitySchemes", "podcast_auth", {
    type: "http",
    scheme: "bearer",
    description: "A token: users make it on the page (Apps, Connect an app), the admin with podkeep token issue USER",
  });
  registry.registerComponent("parameters", "IfNoneMatch", {
    name: "If-None-Match",
    in: "header",
    description: "ETag of an earlier response to the same URL: 304 if nothing has changed since",
    schema: { type: "string" },
  });
  registry.registerComponent("responses", "NotModified", {
    description: "Nothing has changed since the response that had the ETag in If-None-Match",
    headers: { ETag },
  });
  registry.register("ErrorBody", ErrorBody());
  for (const [code, { name, ...headers }] of Object.entries(ERRORS)) {
    const [status, message] = RESPONSES[code as DescribedError];
    const value = { code: String(status), message } satisfies ErrorBody;
    registry.registerComponent("responses", name, {
      description: message,
      ...headers,
      content: {
        "application/json": { schema: { $ref: "#/components/schemas/ErrorBody" }, examples: { [code]: { value } } },
      },
    });
  }
}
