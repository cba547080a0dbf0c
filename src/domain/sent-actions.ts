// Episode actions as apps send them: what can be read of each. By hand, because a schema takes seven times as long, and an
// app sends thousands.
import { isWritable } from "./date-time.ts";
import { EPISODE_KINDS, type EpisodeAction, guidOfFeed, parseActionTime } from "./episode-actions.ts";
import { MOST_SECONDS } from "./play-time.ts";

/** Bytes. */
const LONGEST_TEXT = 8192;
/** Numbers up to it are seconds, and not milliseconds: it is in the year 5138. */
export const LATEST_SECOND = 100_000_000_000;

/**
 * Reads an element of an upload. A field that can't be read counts as missing.
 * @param now Unix milliseconds: when an action happened that has no time
 * @returns what could not be read if there is no feed, episode or kind of action: the field, as `.podcast`, or empty if
 * the element is no object
 */
export function readAction(sent: unknown, now: number): EpisodeAction | { unread: string } {
  if (!isObject(sent)) return { unread: "" };
  // As in lists of feeds: apps keep the spaces of a feed URL that somebody has pasted.
  const feed_url = readText(sent["podcast"])?.trim() ?? null;
  const episode_url = readText(sent["episode"]);
  const kind = readKind(sent["action"]);
  if (!feed_url) return { unread: ".podcast" };
  if (!episode_url?.trim()) return { unread: ".episode" };
  if (kind === null) return { unread: ".action" };
  const isPlay = kind === "play";
  return {
    feed_url,
    episode_url,
    guid: guidOfFeed(readText(sent["guid"])),
    kind,
    sent_at: readTime(sent["timestamp"]) ?? now,
    started: isPlay ? readSeconds(sent["started"]) : null,
    position: isPlay ? readSeconds(sent["position"]) : null,
    total: isPlay ? readSeconds(sent["total"]) : null,
    device: readText(sent["device"]) || null,
  };
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** Whether a text can be stored. */
export const isText = (text: string): boolean =>
  text.isWellFormed() && !text.includes("\0") && Buffer.byteLength(text) <= LONGEST_TEXT;

const readText = (value: unknown) => (typeof value === "string" && isText(value) ? value : null);

function readKind(value: unknown): EpisodeAction["kind"] | null {
  if (typeof value !== "string") return null;
  const lower = value.toLowerCase();
  return EPISODE_KINDS.find((kind) => kind === lower) ?? null;
}

/** Seconds or milliseconds since 1970 in a text; fewer digits may be a date. */
const COUNT = /^\s*\d{9,13}(\.\d+)?\s*$/;

/** Reads a time in Unix milliseconds. */
function readTime(value: unknown): number | null {
  const time = typeof value === "string" ? fromText(value) : typeof value === "number" ? fromNumber(value) : null;
  return time !== null && isWritable(time) ? time : null;
}

const fromText = (text: string) => parseActionTime(text) ?? (COUNT.test(text) ? fromNumber(Number(text)) : null);
const fromNumber = (value: number) => Math.round(value < LATEST_SECOND ? value * 1000 : value);

/** Reads seconds, which some apps send as text; null without them. Nextcloud's server writes that as -1. */
function readSeconds(value: unknown): number | null {
  // An object can have no number at all, and Number() throws.
  const seconds = typeof value === "object" ? Number.NaN : Math.round(Number(value));
  return seconds >= 0 && seconds < Number.POSITIVE_INFINITY ? Math.min(seconds, MOST_SECONDS) : null;
}
