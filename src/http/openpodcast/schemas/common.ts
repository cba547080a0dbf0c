// Wire shapes that every resource shares: guids, feed addresses, times, errors.
import { z } from "zod";

const NIL = "00000000-0000-0000-0000-000000000000";
const MAX = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** A guid, read in any letter case and kept in lower case (P3). The nil and max UUIDs are no guids. */
export const guid = z
  .guid()
  .toLowerCase()
  .refine((value) => value !== NIL && value !== MAX, "Invalid GUID")
  .meta({ format: "uuid", example: "9b024349-ccf0-5f69-a609-6b82873eab3c" });

/** A feed address in an answer, to the letter as it was sent. */
export const feed_url = z.string().meta({ format: "url", example: "https://podnews.net/rss" });

/** A change stamp on the wire: RFC 3339 in UTC with milliseconds. */
export const date_time = z.string().meta({ format: "date-time", example: "2026-11-21T08:30:00.000Z" });

const LARGEST = 999_999_999_999_999;

/** A positive integer in a path or a query; one beyond all that is ever counted stands for the largest. */
export const positive = z
  .string()
  .regex(/^[1-9][0-9]*$/, "Not a positive integer")
  .transform((digits) => Math.min(Number(digits), LARGEST));

/** The body of every error. */
export const ErrorBody = z
  .object({
    code: z.string().meta({ description: "The HTTP status as text", example: "404" }),
    message: z.string().meta({ example: "Resource not found" }),
    details: z
      .array(z.string())
      .optional()
      .meta({ description: "Where the input is wrong and why", example: ["subscriptions.0.feed_url: required"] }),
  })
  .meta({ id: "Error", example: { code: "404", message: "Resource not found" } });

export type ErrorBody = z.infer<typeof ErrorBody>;

const SINCE =
  /^(\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.(\d+))?(?:[Zz]|([+ -])([01]\d|2[0-3]):([0-5]\d))$/;

/**
 * Reads an RFC 3339 date-time into Unix milliseconds, rounded down. A space before the offset is a plus sign that was
 * not escaped in a query string.
 * @returns null where the text is no date-time
 */
export function parseDateTime(text: string): number | null {
  const match = SINCE.exec(text);
  if (!match) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  const milliseconds = Number((match[7] ?? "").padEnd(3, "0").slice(0, 3));
  const offset = (Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0)) * (match[8] === "-" ? -1 : 1);
  return date.setUTCHours(hour, minute - offset, second, milliseconds);
}
