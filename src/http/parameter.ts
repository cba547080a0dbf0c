// Query parameters.
import { z } from "zod";

/** A query parameter; an empty one is none. */
export const parameter = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((text) => (text === "" ? undefined : text), schema.optional());
