// The text forms of settings: durations, numbers, addresses, schedules. Messages continue "NAME=value …".
import { Cron } from "croner";
import { z } from "zod";
import { networkList } from "../domain/networks.ts";
import { messageOf } from "../errors.ts";

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Reads 250ms, 30s, 15m, 12h or 90d into milliseconds; null if the text is none of these. */
export function parseDuration(text: string): number | null {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text);
  return match ? Number(match[1]) * UNITS[match[2] as keyof typeof UNITS] : null;
}

/** A timer set for more than 2^31-1 ms fires at once. */
const LONGEST_DURATION = 24 * UNITS.d;
const LONGEST_AGE = 36_500 * UNITS.d;

/** A duration of at most `most` milliseconds, which is `limit` in words. */
const durationUpTo = (most: number, limit: string) =>
  z.string().transform((text, context) => {
    const milliseconds = parseDuration(text);
    if (milliseconds !== null && milliseconds <= most) return milliseconds;
    const message = milliseconds === null ? "is not a duration in ms, s, m, h or d" : `is longer than ${limit}`;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  });

/** A duration for timers, in milliseconds. */
export const duration = durationUpTo(LONGEST_DURATION, "24d");

/** A duration that is not 0: a timeout of 0 never succeeds, and polling without a pause takes all of the processor. */
export const positiveDuration = duration.refine((milliseconds) => milliseconds > 0, "is not longer than 0");

/** How old something may get, in milliseconds: at least a day. */
export const age = durationUpTo(LONGEST_AGE, "36500d").refine(
  (milliseconds) => milliseconds >= UNITS.d,
  "is shorter than 1d",
);

/** One of these words. */
export const choice = <const Words extends readonly string[]>(...words: Words) =>
  z.enum(words, { error: `is not one of ${words.join(", ")}` });

/** A whole number from `least` to `most`. */
export const whole = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,12}$/, "is not a whole number")
    .transform(Number)
    .refine((value) => value >= least && value <= most, `is not between ${least} and ${most}`);

const KIBIBYTE = 1024;
const SIZES = { B: 1, KB: KIBIBYTE, MB: KIBIBYTE ** 2, GB: KIBIBYTE ** 3 } as const;

/** A size in bytes: 5242880, 5120KB or 5MB, where a KB is 1024 bytes. */
export const size = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,12}(B|KB|MB|GB)?$/i, "is not a number of bytes, KB or MB")
    .transform(
      (text) => parseInt(text, 10) * SIZES[(text.replace(/^\d+/, "").toUpperCase() || "B") as keyof typeof SIZES],
    )
    .refine((bytes) => bytes >= least && bytes <= most, `is not between ${least} and ${most} bytes`);

// Without node:net, which takes 2 MB. The part after % names an interface.
const isIPv6 = (text: string) => URL.canParse(`http://[${text.replace(/%.+$/, "")}]`);

/** A host name or IP address; the system decides whether this machine has it. */
export const host = z
  .string()
  .min(1, { error: "is empty", abort: true })
  .regex(/^[\w.:%-]+$/, { error: "is not a host name or an IP address", abort: true })
  .refine((text) => !text.includes(":") || isIPv6(text), "has a port: give it as PODKEEP_PORT");

/** Reads host:port or [address]:port. @throws Error if the text is neither */
export function parseListen(text: string): { host: string; port: number } {
  const match = /^(?:\[([\da-f:.]+)\]|([^:\s]+)):(\d{1,5})$/i.exec(text);
  const [host, port] = [match?.[1] ?? match?.[2], Number(match?.[3])];
  if (!host || port > 65535) throw new Error("is not an address and port (example: 127.0.0.1:9042)");
  return { host, port };
}

/** An address and port to listen on, kept as text. */
export const listen = z.string().superRefine((text, context) => {
  try {
    parseListen(text);
  } catch (error) {
    context.addIssue(messageOf(error));
  }
});

/** An http or https URL that paths can be appended to, as browsers write it, without slashes at its end. */
export const url = z
  .url({
    protocol: /^https?$/,
    error: "is not an http or https URL (example: https://podcasts.example.org)",
    normalize: true,
    abort: true,
  })
  .regex(
    /^[^/]*\/\/[^/?#@]*(\/[^?#]*)?$/,
    "has more than scheme, host, port and path (example: https://podcasts.example.org)",
  )
  .transform((text) => text.replace(/\/+$/, ""));

/** IP addresses and CIDR ranges, separated by spaces or commas. */
export const ranges = z.string().transform((text, context) => {
  const list = text.split(/[\s,]+/).filter(Boolean);
  try {
    if (list.length > 0) networkList(list);
    return list;
  } catch (error) {
    context.addIssue(messageOf(error));
    return z.NEVER;
  }
});

/** A cron expression that has a next time, kept as text. */
export const schedule = z.string().transform((text, context) => {
  try {
    if (new Cron(text, { paused: true, mode: "5-part" }).nextRun() !== null) return text;
    context.addIssue({ code: "custom", message: "is a schedule that never comes" });
  } catch {
    context.addIssue({ code: "custom", message: "is not a cron expression of five fields (example: 30 3 * * *)" });
  }
  return z.NEVER;
});

/** Larger than anything that is counted. */
const LARGEST = 999_999_999_999_999;

/** A positive integer as text, 5.0 too, which clients write that know only floats; above LARGEST it is LARGEST. */
export const positive = z
  .string()
  .regex(/^[1-9][0-9]*(\.0+)?$/, "Not a positive integer")
  .transform((digits) => Math.min(Number(digits), LARGEST));
