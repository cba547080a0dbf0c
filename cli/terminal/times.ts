// Times that users type.
import { InvalidArgumentError } from "commander";
import { parseDuration } from "../../src/config/values.ts";
import { parseDateTime } from "../../src/domain/date-time.ts";

/** A time that may depend on when the command runs. */
export type TypedTime = (now: number) => number;

/** An RFC 3339 date-time, or a date, which means its start in UTC. */
function readTime(text: string): number | null {
  return parseDateTime(text) ?? parseDateTime(`${text}T00:00:00Z`);
}

/** Reads a duration from now, or a time. */
export const readFuture = (text: string) => read(text, 1);

/** Reads a duration before now, or a time. */
export const readPast = (text: string) => read(text, -1);

function read(text: string, sign: 1 | -1): TypedTime {
  const duration = parseDuration(text);
  if (duration !== null) return (now) => now + sign * duration;
  const time = readTime(text);
  if (time === null) throw new InvalidArgumentError("Examples: 90d, 12h, 2027-01-31, 2027-01-31T12:00:00Z.");
  return () => time;
}
