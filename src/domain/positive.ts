// Positive integers in requests and flags.
import { z } from "zod";

/** Larger than anything that is counted. */
const LARGEST = 999_999_999_999_999;

/** A positive integer as text, 5.0 too, which clients write that know only floats; above LARGEST it is LARGEST. */
export const positive = z
  .string()
  .regex(/^[1-9][0-9]*(\.0+)?$/, "Not a positive integer")
  .transform((digits) => Math.min(Number(digits), LARGEST));
