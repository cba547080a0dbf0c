// Requests generated from the OpenAPI document: valid, nearly valid, and nonsense.
import fc from "fast-check";
import { z } from "zod";
import { inlineParts } from "../../src/http/web/api-document.ts";

type Schema = {
  $ref?: string | undefined;
  type?: string | undefined;
  format?: string | undefined;
  example?: unknown;
  minimum?: number | undefined;
  properties?: Record<string, Schema> | undefined;
  required?: string[] | undefined;
  items?: Schema | undefined;
};

const Schema: z.ZodType<Schema> = z.looseObject({
  $ref: z.string().optional(),
  type: z.string().optional(),
  format: z.string().optional(),
  minimum: z.number().optional(),
  properties: z
    .record(
      z.string(),
      z.lazy(() => Schema),
    )
    .optional(),
  required: z.array(z.string()).optional(),
  items: z.lazy(() => Schema).optional(),
});

const Content = z.object({ "application/json": z.object({ schema: Schema }) });

const Operation = z.looseObject({
  operationId: z.string(),
  parameters: z
    .array(z.looseObject({ name: z.string(), in: z.enum(["path", "query", "header"]), schema: Schema }))
    .default([]),
  requestBody: z.object({ content: Content }).loose().optional(),
  responses: z.record(z.string(), z.looseObject({ content: Content.optional() })),
});

/** The parts of /openapi.json that the tests read. */
export const Document = z.preprocess(
  inlineParts,
  z.looseObject({
    paths: z.record(z.string(), z.record(z.string(), z.unknown())),
    components: z.looseObject({ schemas: z.record(z.string(), Schema) }),
  }),
);

export type Document = z.infer<typeof Document>;
export type Operation = z.infer<typeof Operation> & { path: string; method: string };

export interface FuzzRequest {
  /** The operation's id. */
  to: string;
  method: string;
  path: string;
  body: string | Uint8Array<ArrayBuffer> | undefined;
  headers: Record<string, string>;
}

/** Every operation that needs a token. */
export function operationsOf({ paths }: Document): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...Operation.parse(operation), path, method })),
  );
}

// Few guids and feed URLs, so that requests meet the data of earlier ones.
const guids = fc
  .integer({ min: 1, max: 12 })
  .map((n) => `${n.toString(16).repeat(8)}-0000-4000-8000-000000000000`.slice(-36));
const addresses = fc
  .tuple(
    fc.constantFrom(
      "https://OWNER.test/",
      "http://OWNER.test/",
      "HTTPS://Owner.test:443/",
      "https://a:b@OWNER.test/",
      "https://xn--mnchen-3ya.OWNER.test/",
    ),
    fc.constantFrom("", "1", "2", "3/", "3", "4?key=secret", "5#part", "%00", "é", "a b", "../6"),
  )
  .map(([start, end]) => start + end);
const times = fc.oneof(
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.constantFrom(
    "2026-01-01T00:00:00+02:00",
    "2026-01-01T00:00:00 02:00",
    "",
    "2026-02-30T00:00:00Z",
    "9999-12-31T23:59:60Z",
    "now",
  ),
);
const nonsense = fc.oneof(
  fc.constantFrom(
    "",
    "0",
    "-1",
    "1e3",
    "999999999999999",
    "9".repeat(400),
    "null",
    "../..",
    "%00",
    "\ud800",
    "a".repeat(9000),
  ),
  fc.string({ unit: "binary", maxLength: 40 }),
  guids.map((guid) => guid.toUpperCase()),
  fc.uuid(),
);

const FORMATS: Record<string, fc.Arbitrary<unknown>> = { uuid: guids, url: addresses, "date-time": times };

/** Values that a schema allows. */
function valid(schema: Schema, document: Document): fc.Arbitrary<unknown> {
  if (schema.$ref) return valid(document.components.schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {}, document);
  if (schema.format && FORMATS[schema.format]) return FORMATS[schema.format] ?? nonsense;
  if (schema.type === "boolean") return fc.boolean();
  if (schema.type === "integer") return fc.integer({ min: schema.minimum ?? 0, max: 12 });
  if (schema.type === "array") return fc.array(valid(schema.items ?? {}, document), { maxLength: 6 });
  if (schema.type === "object") {
    const fields = Object.entries(schema.properties ?? {}).map(
      ([name, field]) => [name, valid(field, document)] as const,
    );
    return fc.record(Object.fromEntries(fields), { requiredKeys: schema.required ?? [] });
  }
  if (z.guid().safeParse(schema.example).success) return guids;
  return schema.type === "string" ? addresses : fc.jsonValue();
}

/** Mostly valid values; sometimes a part of one is anything else. */
function nearly(schema: Schema, document: Document): fc.Arbitrary<unknown> {
  const wrong = fc.oneof(nonsense, fc.jsonValue({ maxDepth: 3 }), fc.double(), fc.bigInt().map(Number));
  const resolved = schema.$ref ? document.components.schemas[schema.$ref.split("/").at(-1) ?? ""] : schema;
  if (resolved?.type === "object") {
    const fields = Object.entries(resolved.properties ?? {}).map(
      ([name, field]) => [name, nearly(field, document)] as const,
    );
    const extra = { __proto__x: wrong, constructor: wrong };
    const record = fc.record({ ...Object.fromEntries(fields), ...extra }, { requiredKeys: [] });
    return fc.oneof({ weight: 9, arbitrary: record }, { weight: 1, arbitrary: wrong });
  }
  if (resolved?.type === "array") {
    const list = fc.array(nearly(resolved.items ?? {}, document), { maxLength: 6 });
    return fc.oneof({ weight: 9, arbitrary: list }, { weight: 1, arbitrary: wrong });
  }
  return fc.oneof({ weight: 4, arbitrary: valid(schema, document) }, { weight: 1, arbitrary: wrong });
}

const bytes = fc.uint8Array({ maxLength: 60 }).map((raw) => Uint8Array.from(raw));
const brokenTexts = fc.constantFrom(
  "",
  "{",
  "[]",
  "null",
  "{}",
  "[".repeat(20_000),
  '{"subscriptions":[{}]}',
  '{"__proto__":{"a":1}}',
  "\ufeff{}",
);

const contentTypes = fc.oneof(
  { weight: 20, arbitrary: fc.constant("application/json") },
  {
    weight: 1,
    arbitrary: fc.constantFrom("application/json; charset=utf-8", "text/plain", "application/json; charset=latin1", ""),
  },
);

function bodies(schema: Schema, document: Document): fc.Arbitrary<FuzzRequest["body"]> {
  const json = (value: unknown) => JSON.stringify(value) ?? "";
  return fc.oneof(
    { weight: 8, arbitrary: valid(schema, document).map(json) },
    { weight: 8, arbitrary: nearly(schema, document).map(json) },
    { weight: 1, arbitrary: brokenTexts },
    { weight: 1, arbitrary: bytes },
  );
}

/** Requests to one operation; OWNER stands for the user's name. */
export function requestsTo(operation: Operation, document: Document): fc.Arbitrary<FuzzRequest> {
  const sent = operation.parameters.filter((parameter) => parameter.in !== "header");
  const parameters = sent.map(({ name, schema, in: place }) => {
    const usual = valid(schema, document).map(String);
    const value = fc.oneof({ weight: 6, arbitrary: usual }, { weight: 1, arbitrary: nonsense });
    return fc.tuple(fc.constant({ name, place }), place === "path" ? value : fc.option(value));
  });
  const schema = operation.requestBody?.content["application/json"].schema;
  return fc
    .record({
      values: fc.tuple(...parameters),
      body: schema ? bodies(schema, document) : fc.constant(undefined),
      type: contentTypes,
      prefix: fc.constantFrom("", "/v1"),
      seen: fc.option(fc.constantFrom("*", '"x"', 'W/"x"', ","), { freq: 10 }),
    })
    .map(({ values, body, type, prefix, seen }) => {
      let path = prefix + operation.path;
      const query = new URLSearchParams();
      for (const [{ name, place }, value] of values) {
        if (value === null) continue;
        if (place === "query") query.append(name, value);
        // An empty segment or one of dots would be another path.
        else path = path.replace(`{${name}}`, encodeURIComponent(value.toWellFormed()).replace(/^\.{0,2}$/, "x"));
      }
      return {
        to: operation.operationId,
        method: operation.method.toUpperCase(),
        path: query.size > 0 ? `${path}?${query}` : path,
        body,
        headers: {
          ...(body === undefined ? {} : { "Content-Type": type }),
          ...(seen ? { "If-None-Match": seen } : {}),
        },
      };
    });
}
