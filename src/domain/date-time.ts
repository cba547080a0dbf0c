// Date-times as people and apps write them.

const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d|60)(?:\.(\d+))?)?(?:[Zz]|([+ -])([01]\d|2[0-3]):([0-5]\d))?$/;

/**
 * Reads a date-time into Unix milliseconds, rounded down: RFC 3339, also without seconds, and without an offset as UTC.
 * A space before the offset is a plus sign that was not escaped in a query string.
 * @returns null if the text is not a date-time
 */
export function parseDateTime(text: string): number | null {
  const match = DATE_TIME.exec(text);
  if (!match) return null;
  const [month, day, hour, minute] = [Number(match[2]), Number(match[3]), Number(match[4]), Number(match[5])];
  const second = Number(match[6] ?? 0);
  const date = new Date(0);
  date.setUTCFullYear(Number(match[1]), month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  // A leap second is the beginning of the next one: with its fraction, a `since` would be later than changes of that.
  const milliseconds = second === 60 ? 0 : Number((match[7] ?? "").padEnd(3, "0").slice(0, 3));
  const offset = (Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0)) * (match[8] === "-" ? -1 : 1);
  return date.setUTCHours(hour, minute - offset, second, milliseconds);
}

/** Python, so gPodder, has no year 0, and drops all actions of a response for one time of it. */
export const EARLIEST = Date.parse("0001-01-01T00:00:00Z");
const LATEST = Date.parse("9999-12-31T23:59:59.999Z");

/** Whether all apps can read a time in UTC: its year is from 1 to 9999. @param time Unix milliseconds */
export const isWritable = (time: number): boolean => time >= EARLIEST && time <= LATEST;
