// The pieces from which every operation of /openapi.json is described.
import type { ZodType } from "zod";
import type { ErrorCode } from "../../errors.ts";
import { VERSION } from "../../version.ts";
import { RESPONSES } from "./errors.ts";
import { ErrorBody } from "./schemas/common.ts";

export const DOCUMENT = {
  openapi: "3.1.0",
  info: {
    title: "podkeep",
    version: VERSION,
    description:
      "Keeps a user's podcast subscriptions and syncs them between apps: the subscriptions part of the Open Podcast API.",
    license: { name: "MIT", identifier: "MIT" },
  },
  servers: [{ url: "/v1" }, { url: "/" }],
};

const common = (operationId: string, summary: string) => ({ operationId, summary, security: [{ bearer: [] }] });

/** What all operations share that only read; they are GETs. */
export const reads = (operationId: string, summary: string) => ({
  ...common(operationId, summary),
  method: "get" as const,
});

/** What all operations share that change something. */
export const writes = <Method extends "post" | "patch" | "delete">(
  operationId: string,
  method: Method,
  summary: string,
) => ({
  ...common(operationId, summary),
  method,
});

export function jsonBody<Schema extends ZodType>(description: string, schema: Schema) {
  return { description, content: { "application/json": { schema } } };
}

export const notModified = {
  304: { description: "Nothing has changed since the answer that bore the ETag in If-None-Match" },
};

type ErrorResponse = {
  description: string;
  content: { "application/json": { schema: typeof ErrorBody; examples: object } };
};

/** The error responses of an operation: the given ones and those that any may have. */
export function describeErrors(...codes: ErrorCode[]): Record<never, ErrorResponse> {
  const responses: Record<number, ErrorResponse> = {};
  for (const code of [...codes, "too_many", "internal", "unavailable"] as const) {
    const [status, message] = RESPONSES[code];
    responses[status] = {
      description: message,
      content: {
        "application/json": {
          schema: ErrorBody,
          examples: { [code]: { value: { code: String(status), message } satisfies ErrorBody } },
        },
      },
    };
  }
  return responses;
}
