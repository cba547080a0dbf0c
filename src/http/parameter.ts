// What schemas of requests share.
import { z } from "zod";

export const NO_DATE_TIME = "Not an RFC 3339 date-time (example: 2026-11-21T18:12:09.602Z)";

/** A query parameter, given once; an empty one is none. */
export const parameter = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((given, context) => {
    if (Array.isArray(given)) context.addIssue({ code: "custom", message: "Given more than once" });
    return emptyIsNone(given);
  }, schema.optional());

/** A query parameter that is a list if it is given more than once. */
export const repeatable = <Schema extends z.ZodType>(schema: Schema) => z.preprocess(emptyIsNone, schema.optional());

const emptyIsNone = (given: unknown) => (given === "" ? undefined : given);

/** A text that `read` makes something else of; one of which it makes nothing is refused. */
export const readAs = <T>(read: (text: string) => T | null, refusal: string) =>
  z.string().transform((text, context) => {
    const value = read(text);
    if (value !== null) return value;
    context.addIssue({ code: "custom", message: refusal });
    return z.NEVER;
  });
