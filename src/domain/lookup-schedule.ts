// When a feed is looked up again, and when a move that it announces counts.
import { readFeedHash } from "./feed-url.ts";

const SECOND = 1000;
const HOUR = 60 * 60 * SECOND;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

/** When something began: now, if that is not known, or if the clock was ahead then. */
export const beginOf = (now: number, begun: number | null): number => Math.min(begun ?? now, now);

/** Between the first lookups of feeds that a user adds together, in milliseconds. */
export const FIRST_LOOKUPS_APART = 2 * SECOND;
/** Between a busy or broken host's failure and the next lookup of any of its feeds, if it names no other time. */
const HOST_PAUSE = 10 * 60 * SECOND;
const FIRST_PAUSE = HOUR;
/** The longest that a server may ask to wait. */
const LONGEST_WAIT = 4 * WEEK;
/** No lookup is planned later than this many milliseconds ahead. */
export const HORIZON = LONGEST_WAIT + WEEK;

const LOOKUPS_OF_MOVE = 3;

/** A number from 0 to 1 that is the feed's own, so that feeds added together spread over the day. @param feed its hash */
const fractionOf = (feed: string) => Number.parseInt(feed.slice(0, 8), 16) / 0xffffffff;

/**
 * After a lookup that worked: a week, and up to a day.
 * @param now Unix milliseconds
 * @param isHeard whether somebody listened to new episodes since the one before: then a day, and up to 3.4 hours
 */
export function timeAfterSuccess(now: number, feed: string, isHeard = false): number {
  const pause = isHeard ? DAY : WEEK;
  return now + pause + Math.round(fractionOf(feed) * (pause / 7));
}

/**
 * After the n-th failure in a row: 1, 4, 16, 64 hours, then a week, or as long as the server asked to wait.
 * @param retry_after milliseconds; null if it did not ask
 */
export function timeAfterFailure(now: number, feed: string, failures: number, retry_after: number | null): number {
  const pause = Math.min(FIRST_PAUSE * 4 ** (failures - 1), WEEK);
  const asked = Math.min(retry_after ?? 0, LONGEST_WAIT);
  return now + Math.max(pause, asked) + Math.round(fractionOf(feed) * (pause / 10));
}

/** The next lookup of a feed whose host asked to wait until a time. */
export const timeAfterHost = (until: number, feed: string) => until + Math.round(fractionOf(feed) * HOUR);

/** Until when a host's feeds wait. */
export const hostPause = (now: number, retry_after: number | null) =>
  now + Math.max(HOST_PAUSE, Math.min(retry_after ?? 0, DAY));

/** Whether a host's feeds still wait. A later time than any pause is from a clock that was wrong. */
export const isWaiting = (until: number, now: number): boolean =>
  until > now && until <= hostPause(now, Number.POSITIVE_INFINITY);

/** Where a feed says that it moved, since when, and at how many lookups it said so. */
export interface Move {
  moved_to: string | null;
  moved_since: number | null;
  moved_seen: number;
}

/**
 * The URL that a feed moved to: the itunes:new-feed-url of what was read, else the end of its permanent redirects. A
 * redirect from http to https is a move; another spelling is not.
 * @returns null if it did not move
 */
export function moveTarget(
  feed_url: string,
  { redirected_to, new_feed_url }: { redirected_to: string | null; new_feed_url: string | null },
): string | null {
  const named = new_feed_url !== null && isMove(redirected_to ?? feed_url, new_feed_url) ? new_feed_url : null;
  const target = named ?? redirected_to;
  return target !== null && isMove(feed_url, target) ? target : null;
}

function isMove(from: string, to: string): boolean {
  const [before, after] = [readFeedHash(from), readFeedHash(to)];
  if (before === null || after === null) return false;
  return before !== after || (/^http:/i.test(from) && /^https:/i.test(to));
}

/** Counts a lookup for or against a move. @param now Unix milliseconds */
export function countMove(known: Move, target: string | null, now: number): Move {
  if (target === null) return { moved_to: null, moved_since: null, moved_seen: 0 };
  if (target !== known.moved_to) return { moved_to: target, moved_since: now, moved_seen: 1 };
  return { ...known, moved_since: beginOf(now, known.moved_since), moved_seen: known.moved_seen + 1 };
}

/** A move counts when three lookups over at least a week saw it. */
export const isSettled = ({ moved_since, moved_seen }: Move, now: number): boolean =>
  moved_seen >= LOOKUPS_OF_MOVE && moved_since !== null && now - moved_since >= WEEK;
