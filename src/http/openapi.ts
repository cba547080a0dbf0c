// What protocols with an OpenAPI document share.
import { OpenAPIHono } from "@hono/zod-openapi";
import type { ZodType } from "zod";
import { DomainError } from "../errors.ts";
import type { HttpEnv } from "./env.ts";
import { describeFaults } from "./errors.ts";

/** An API whose routes are in its OpenAPI document. */
export type Api = OpenAPIHono<HttpEnv>;

/** An API without routes. What a schema refuses is a DomainError "invalid", with one line for each fault. */
export const createApi = (): Api =>
  new OpenAPIHono<HttpEnv>({
    defaultHook: (result) => {
      if (result.success) return;
      throw new DomainError("invalid", "The request is not valid", { details: describeFaults(result.error) });
    },
  });

export const sentBody = <Schema extends ZodType>(schema: Schema) => ({
  body: { required: true, content: { "application/json": { schema } } },
});

export const describeHeader = (description: string, schema: object) => ({ description, schema });

/** @param example of a challenge */
export const describeChallenge = (example: string) =>
  describeHeader("Why the credential was refused (RFC 6750)", { type: "string", examples: [example] });

export const LICENSE = { name: "MIT", identifier: "MIT" };

export const RETRY_AFTER = describeHeader("Seconds after which to send the request again", {
  type: "integer",
  minimum: 1,
});
