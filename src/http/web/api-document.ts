// An OpenAPI document, as far as /docs shows it.
import { z } from "zod";

const References = z.looseObject({
  paths: z.record(z.string(), z.unknown()),
  components: z.looseObject({
    responses: z.record(z.string(), z.unknown()),
    parameters: z.record(z.string(), z.unknown()),
  }),
});

/** Puts the responses and parameters that operations refer to in their places; schemas stay references. */
export function inlineParts(document: unknown): unknown {
  const { components, paths, ...rest } = References.parse(document);
  const inline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inline);
    if (typeof value !== "object" || value === null) return value;
    const [, kind, name = ""] = ("$ref" in value && /^#\/components\/(\w+)\/(\w+)$/.exec(String(value.$ref))) || [];
    if (kind === "responses" || kind === "parameters") return components[kind][name];
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, inline(part)]));
  };
  return { ...rest, components, paths: inline(paths) };
}

const Schema = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  format: z.string().optional(),
  description: z.string().optional(),
  example: z.unknown().optional(),
  required: z.array(z.string()).optional(),
});
const Content = z.record(
  z.string(),
  z.looseObject({
    schema: Schema.optional(),
    examples: z.record(z.string(), z.looseObject({ value: z.unknown() })).optional(),
  }),
);
const Header = z.looseObject({ description: z.string().optional() });
const Operation = z.looseObject({
  operationId: z.string(),
  summary: z.string().default(""),
  description: z.string().default(""),
  parameters: z
    .array(
      z.looseObject({
        name: z.string(),
        in: z.string(),
        required: z.boolean().default(false),
        description: z.string().default(""),
        schema: Schema.default({}),
      }),
    )
    .default([]),
  requestBody: z.looseObject({ content: Content }).optional(),
  responses: z.record(
    z.string(),
    z.looseObject({
      description: z.string().default(""),
      content: Content.optional(),
      headers: z.record(z.string(), Header).default({}),
    }),
  ),
});
const Properties = Schema.extend({ properties: z.record(z.string(), Schema).default({}) });
const Document = z.looseObject({
  info: z.looseObject({ title: z.string(), version: z.string(), description: z.string().default("") }),
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
  components: z.looseObject({ schemas: z.record(z.string(), Properties) }),
});

export type Document = z.infer<typeof Document>;
type Operation = z.infer<typeof Operation>;
export type Content = z.infer<typeof Content>;
export type Schema = z.infer<typeof Schema>;

export const readDocument = (document: unknown): Document => Document.parse(inlineParts(document));

export interface Route {
  method: string;
  path: string;
  operation: Operation;
}

export const routesOf = ({ paths }: Document): Route[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, value]) => {
      const operation = Operation.safeParse(value);
      return operation.success ? [{ method: method.toUpperCase(), path, operation: operation.data }] : [];
    }),
  );
