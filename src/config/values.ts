// What a setting's text may be: a duration, a number, an address, a schedule.
import { BlockList, isIP, isIPv6 } from "node:net";
import { Cron } from "croner";
import { z } from "zod";
import { messageOf } from "../errors.ts";

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Reads 250ms, 30s, 15m, 12h or 90d into milliseconds; null where the text is none of these. */
export function parseDuration(text: string): number | null {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text);
  return match ? Number(match[1]) * UNITS[match[2] as keyof typeof UNITS] : null;
}

/** Timers count milliseconds in 32 bits; one that is set for longer goes off at once. */
const LONGEST_DURATION = 24 * UNITS.d;

/** A span of time, in milliseconds. */
export const duration = z.string().transform((text, context) => {
  const milliseconds = parseDuration(text);
  if (milliseconds !== null && milliseconds <= LONGEST_DURATION) return milliseconds;
  const message = milliseconds === null ? "not a duration such as 30s, 15m or 12h" : "longer than 24d";
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

/** A whole number between the two, both included. */
export const whole = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,12}$/, "not a whole number")
    .transform(Number)
    .refine((value) => value >= least && value <= most, `not between ${least} and ${most}`);

/** Reads host:port or [address]:port. @throws Error where the text is neither */
export function parseListen(text: string): { host: string; port: number } {
  const match = /^(?:\[([\da-f:.]+)\]|([^:\s]+)):(\d{1,5})$/i.exec(text);
  const [host, port] = [match?.[1] ?? match?.[2], Number(match?.[3])];
  if (!host || port > 65535) throw new Error("not an address and port such as 127.0.0.1:9042");
  return { host, port };
}

/** An address and a port to listen on, as parseListen reads them; kept as the text that it is. */
export const listen = z.string().superRefine((text, context) => {
  try {
    parseListen(text);
  } catch (error) {
    context.addIssue(messageOf(error));
  }
});

/** A web address, without slashes at its end. */
export const url = z
  .url({ protocol: /^https?$/, error: "not an http or https address" })
  .transform((text) => text.replace(/\/+$/, ""));

/** Adds an address or a CIDR range to a list. @throws Error where the text is neither */
export function addRange(list: BlockList, text: string): void {
  const [, address = "", prefix] = /^([^/]+)(?:\/(\d+))?$/.exec(text) ?? [];
  const family = isIPv6(address) ? "ipv6" : "ipv4";
  try {
    if (isIP(address) === 0) throw new Error("no address");
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  } catch {
    throw new Error(`${text} is not an address or a CIDR range`);
  }
}

/** Addresses and CIDR ranges as addRange reads them, with spaces or commas between. */
export const ranges = z.string().transform((text, context) => {
  const list = text.split(/[\s,]+/).filter(Boolean);
  try {
    for (const range of list) addRange(new BlockList(), range);
    return list;
  } catch (error) {
    context.addIssue(messageOf(error));
    return z.NEVER;
  }
});

/** A cron expression that comes true some day; kept as the text that it is. */
export const schedule = z.string().transform((text, context) => {
  try {
    if (new Cron(text, { paused: true, mode: "5-part" }).nextRun() !== null) return text;
    context.addIssue({ code: "custom", message: "a schedule that never comes" });
  } catch {
    context.addIssue({ code: "custom", message: "not a cron expression of five fields such as 30 3 * * *" });
  }
  return z.NEVER;
});
