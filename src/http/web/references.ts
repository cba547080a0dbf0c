// References in an OpenAPI document.
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
