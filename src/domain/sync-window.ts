// Sync windows: whole seconds for apps, on a clock of milliseconds.

/** Whole seconds of Unix time, as apps count it. The type keeps them apart from `Millis`; plain numbers are either. */
export type Seconds = number & { readonly unit?: "s" };
/** Milliseconds of Unix time. */
export type Millis = number & { readonly unit?: "ms" };

/** What is kept of a client's last GET; a client is one app on one device with one credential. */
export interface SyncPosition {
  /** The `since` of that GET. */
  since: Seconds;
  /** What changed later than this was in its response. */
  start: Millis;
  /** Whether the client's own changes were in it too. */
  own: boolean;
  /** The timestamp of its response. */
  given: Seconds;
}

/** What one GET tells: changes later than `start`, up to `clock`. */
export interface SyncWindow extends SyncPosition {
  /** The user's clock afterwards: no later change can fall into the second that was given. */
  clock: Millis;
}

export const secondOf = (time: Millis): Seconds => Math.floor(time / 1000);

/** The last millisecond of a second. */
export const endOf = (second: Seconds): Millis => second * 1000 + 999;

/**
 * Finds where a GET starts, and whether it tells the client of its own changes: it asks for everything, or was restored
 * from a backup.
 * @param last null when the client is unknown
 * @param since as sent
 */
function startOf(last: SyncPosition | null, since: Seconds): Pick<SyncPosition, "start" | "own"> {
  if (!last || since === 0) return { start: 0, own: true };
  // Asked again: the last response may not have arrived.
  if (since === last.since) return { start: last.start, own: last.own };
  if (since >= last.given) return { start: endOf(last.given), own: false };
  return { start: (since - 1) * 1000, own: true };
}

/**
 * Opens the window of a GET and closes its second.
 * @param clock the user's clock; the present when it is 0
 */
export function openWindow(last: SyncPosition | null, since: Seconds, clock: Millis): SyncWindow {
  const { start, own } = startOf(last, since);
  const second = secondOf(clock);
  // Without another second, the client would ask with the same `since` and be told the same forever.
  const given = second === since && start < since * 1000 ? second + 1 : second;
  return { since, start, own, given, clock: endOf(given) };
}

/**
 * Opens the window of a GET by a client that nothing identifies: from its `since` on, inclusive.
 * @param margin what is told again of the time before `since`
 * @param found whether there is anything to tell
 */
export function openUnknown(since: Seconds, margin: Seconds, clock: Millis, found: boolean): SyncWindow {
  const start = since > margin ? (since - margin) * 1000 - 1 : 0;
  const second = secondOf(clock);
  const given = found && second === since ? second + 1 : second;
  return { since, start, own: true, given, clock: endOf(given) };
}
