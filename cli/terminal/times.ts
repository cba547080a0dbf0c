// Times that users type.
import { InvalidArgumentError } from "commander";
import { parseDuration } from "../../src/config/values.ts";
import { parseDateTime } from "../../src/domain/date-time.ts";

/** A time that may depend on when the command runs. */
export type TypedTime = (now: number) => number;

/** Reads a duration from now, or a time. */
export const readFuture = (text: string) => read(text, 1);

/** Reads a duration before now, or a time. */
export const readPast = (text: string) => read(text, -1);

function read(text: string, sign: 1 | -1): TypedTime {
  const duration = parseDuration(text);
  if (duration !== null) return (now) => now + sign * duration;
  // A date means its start in UTC.
  const time = parseDateTime(text) ?? parseDateTime(`${text}T00:00:00Z`);
  if (time === null) throw new InvalidArgumentError("Examples: 90d, 12h, 2027-01-31, 2027-01-31T12:00:00Z.");
  return () => time;
}
