// Sync windows: whole seconds for apps, on a clock of milliseconds (docs/devices.md).
import type { Habits } from "./habits.ts";

/** Whole seconds of Unix time, as apps count it. The type keeps them apart from `Millis`; plain numbers are either. */
export type Seconds = number & { readonly unit?: "s" };
/** Milliseconds of Unix time. */
export type Millis = number & { readonly unit?: "ms" };

/** Where a client is: what is kept of its last GET. A client is one app on one device with one credential. */
export interface SyncPosition {
  /** The `since` of that GET: the timestamp that the app was given, if it keeps one. */
  since: Seconds;
  /** What the client knew before: changes up to this time. Later ones were in the response. */
  start: Millis;
  /** Whether the client's own changes were in it too. */
  own: boolean;
  /** The timestamp of its response. */
  given: Seconds;
  /** Wall time of the client's last upload after that GET; null if there was none. */
  uploaded_at: Millis | null;
  /** How far the client's clock was ahead of ours when it last sent its own time; null if it never did. */
  ahead: Seconds | null;
}

/** What one GET sends: changes later than `start`, up to `clock`. */
export interface SyncWindow extends SyncPosition {
  /** The user's clock afterwards: no later change can fall into the second that was given. */
  clock: Millis;
}

/** Seconds that a response to an upload may take. */
const LONGEST_RESPONSE = 30;

const secondOf = (time: Millis): Seconds => Math.floor(time / 1000);

/** The last millisecond of a second. */
export const endOf = (second: Seconds): Millis => second * 1000 + 999;

/** How far a client's clock is ahead, by a `since` that is its own time after an upload. */
function aheadOf({ given, uploaded_at, ahead }: SyncPosition, since: Seconds, { clock }: Habits): Seconds | null {
  if (clock !== "own after upload" || uploaded_at === null || since === given) return ahead;
  return since - secondOf(uploaded_at);
}

/**
 * Whether a `since` before the second given last is the app's own time, whose clock is behind ours. Otherwise the device
 * was restored from a backup.
 */
function isOwnTime(last: SyncPosition, since: Seconds, habits: Habits): boolean {
  if (habits.clock === "server") return false;
  // The app's own time of the GET before.
  if (habits.clock === "own" && since > last.since) return true;
  if (last.uploaded_at === null) return false;
  const ahead = habits.clock === "own" ? 0 : last.ahead;
  return ahead === null || since - secondOf(last.uploaded_at) >= ahead - LONGEST_RESPONSE;
}

/** Whether the time of an upload has to be kept, because the next `since` may be that time by the app's clock. */
export function keepsUpload(last: SyncPosition, { clock, rereads }: Habits, now: Millis): boolean {
  // An app's own time is never before its last one, unless that was ours, which is ahead.
  const isBehind = clock === "own" && last.given > secondOf(now);
  return clock === "own after upload" || rereads || isBehind;
}

/**
 * Finds where a GET starts, and whether it sends the client its own changes.
 * @param last null when the client is unknown
 * @param since as sent
 */
function startOf(last: SyncPosition | null, since: Seconds, habits: Habits): Pick<SyncPosition, "start" | "own"> {
  if (!last || since === 0) return { start: 0, own: true };
  if (since === last.since) {
    // Asked again, because the response may not have arrived; or a second device with the same id and credential.
    return { start: last.start, own: last.own || (habits.rereads && last.uploaded_at !== null) };
  }
  if (since >= last.given || isOwnTime(last, since, habits)) return { start: endOf(last.given), own: false };
  return { start: restoredAt(since), own: true };
}

/** Where a device starts that was restored from its backup. */
const restoredAt = (since: Seconds): Millis => (since - 1) * 1000;

/** Whether a client reports all that it held before, because it asked for everything. */
export const isFullSync = (last: Pick<SyncPosition, "since"> | null, { reportsAll }: Habits): boolean =>
  reportsAll && last?.since === 0;

/**
 * Finds until when a client knew all changes when its user made those that it uploads: before its last GET, or after it if
 * the app uploads first, and does not report all that it held before. If that GET sent known changes again, only an app that
 * moves on with each response it receives says so, by its `since`.
 * @returns null if nothing says so
 */
function knownUntil(last: SyncPosition | null, habits: Habits): Millis | null {
  if (!last) return null;
  const { clock, echoes, sendsFirst } = habits;
  if (sendsFirst && !isFullSync(last, habits)) return endOf(last.given);
  if (!last.own) return last.start;
  return last.since > 0 && clock === "server" && echoes === "once accepted" ? endOf(last.since) : null;
}

/** What a client knew, and was told, when it uploads. */
export interface Knowledge {
  /** Until when it knew all changes: before its last GET, or by reading the list. */
  knewUntil: Millis;
  /** Until when it was told all changes: by that GET too. */
  toldUntil: Millis;
  /** The time whose list its reports are compared with; null if they are compared with none. */
  comparedAt: Millis | null;
  /** The removals that it reports can't be obeying what changed after one of these times. */
  unobeyedAfter: Millis[];
}

/**
 * Finds what a client knew when its user made the changes that it uploads.
 * @param listReadAt until when it knew all changes because it read the whole list; 0 if it never did
 */
export function knowledgeOf(last: SyncPosition | null, listReadAt: Millis, habits: Habits): Knowledge {
  const start = last?.start ?? 0;
  const byGet = knownUntil(last, habits);
  const isCertain = byGet !== null || listReadAt > start;
  const knewUntil = Math.max(listReadAt, byGet ?? start);
  const toldUntil = Math.max(last ? endOf(last.given) : 0, listReadAt);
  // Who asked for everything and uploads all that it has sends what it has just received too.
  const uncertainAt = isFullSync(last, habits) ? toldUntil : null;
  // Who echoes at once has asked just before, and may obey what a full disk kept from being noted as sent.
  const mayObey = toldUntil === 0 || habits.echoes === "at once";
  // What its user did before it asked obeys nothing that it was sent then.
  const unobeyedAfter = habits.uploadsOlder && isCertain ? [toldUntil, knewUntil] : [toldUntil];
  return {
    knewUntil,
    toldUntil,
    comparedAt: isCertain ? knewUntil : uncertainAt,
    unobeyedAfter: mayObey ? [] : unobeyedAfter,
  };
}

/**
 * Whether a client that uploads plays may have asked for all of them just before. Who asks before each upload has asked, and
 * if nothing says for what, it may be its first sync.
 */
export const asksForAll = (last: SyncPosition | null, { movesOnceUploaded }: Habits): boolean =>
  last ? last.since === 0 : movesOnceUploaded;

/** Finds until when a client knew all plays when it did those that it uploads, by its last GET; 0 if that is not known. */
export function playsKnownUntil(last: SyncPosition | null, { movesOnceUploaded, playsAfterGet }: Habits): Millis {
  if (!last) return 0;
  if (playsAfterGet) return endOf(last.given);
  return movesOnceUploaded ? last.start : 0;
}

/**
 * Opens the window of a GET and closes its second.
 * @param sent the `since` of the request
 * @param clock the user's clock; the present when it is 0
 */
export function openWindow(last: SyncPosition | null, sent: Seconds, clock: Millis, habits: Habits): SyncWindow {
  const since = habits.addsOne && sent > 1 ? sent - 1 : sent;
  const { start, own } = startOf(last, since, habits);
  const second = secondOf(clock);
  // Without another second, the client would ask with the same `since` and receive the same forever.
  const given = second === since && start < second * 1000 ? second + 1 : second;
  const ahead = last && aheadOf(last, since, habits);
  return { since, start, own, given, uploaded_at: null, ahead, clock: endOf(given) };
}

/** Seconds by which an app's own time may be ahead of ours, with the sync at whose end it was taken. */
const WRONG_CLOCK = 2 * 24 * 60 * 60;

/** From where a GET sends changes: of a device that was restored, its own time may be later than what it knew then. */
export function sentFrom({ since, start, own }: SyncPosition, { clock }: Habits): Millis {
  const isRestored = own && start === restoredAt(since);
  return isRestored && clock !== "server" ? Math.max(0, start - WRONG_CLOCK * 1000) : start;
}

/** Seconds by which a client that nothing identifies is sent again what arrived before it uploaded something. */
const UPLOAD_MARGIN = 60 * 60;

/** The timestamp of an upload by a client that nothing identifies. @param clock the user's clock after it */
export const givenToUnknown = (clock: Millis): Seconds => Math.max(0, secondOf(clock) - UPLOAD_MARGIN);

/**
 * Opens the window of a GET by a client that nothing identifies: from its `since` on, inclusive.
 * @param margin what is sent again of the time before `since`
 * @param isNews whether there is anything to send
 * @param now the wall clock
 */
export function openUnknown(since: Seconds, margin: Seconds, clock: Millis, isNews: boolean, now: Millis): SyncWindow {
  const start = since > margin ? (since - margin) * 1000 - 1 : 0;
  const second = secondOf(clock);
  // What the margin repeats ends with time: frequent polls must not push the user's clock ahead.
  const passes = margin > 0 && second <= secondOf(now);
  const given = isNews && second === since && !passes ? second + 1 : second;
  return { since, start, own: true, given, uploaded_at: null, ahead: null, clock: endOf(given) };
}
