// Sync windows: whole seconds for apps, on a clock of milliseconds.

/** What is kept of a client's last GET; a client is one app on one device with one credential. */
export interface SyncPosition {
  /** The `since` of that GET, in seconds. */
  since: number;
  /** What changed later than this was in its response, in milliseconds. */
  start: number;
  /** The timestamp of its response, in seconds. */
  given: number;
}

/** What one GET tells: changes later than `start`, up to `clock`. */
export interface SyncWindow extends SyncPosition {
  /** The user's clock afterwards, in milliseconds: no later change can fall into the second that was given. */
  clock: number;
}

export const secondOf = (milliseconds: number) => Math.floor(milliseconds / 1000);

/** The last millisecond of a second. */
export const endOf = (second: number) => second * 1000 + 999;

/**
 * Finds where a GET starts, in milliseconds. A start on a whole second means that the client is also told of its own
 * changes: it asks for everything, or was restored from a backup.
 * @param last null when the client is unknown
 * @param since in seconds, as sent
 */
export function startOf(last: SyncPosition | null, since: number): number {
  if (!last || since === 0) return 0;
  // Asked again: the last response may not have arrived.
  if (since === last.since) return last.start;
  if (since >= last.given) return endOf(last.given);
  return (since - 1) * 1000;
}

/** Whether a GET that starts there tells the client of its own changes too. */
export const includesOwn = (start: number) => start % 1000 === 0;

/**
 * Opens the window of a GET and closes its second.
 * @param clock the user's clock in milliseconds; the present when it is 0
 */
export function openWindow(last: SyncPosition | null, since: number, clock: number): SyncWindow {
  const start = startOf(last, since);
  const second = secondOf(clock);
  // Without another second, the client would ask with the same `since` and be told the same forever.
  const given = second === since && start < since * 1000 ? second + 1 : second;
  return { since, start, given, clock: endOf(given) };
}

/**
 * Opens the window of a GET by a client that nothing identifies: from its `since` on, inclusive.
 * @param margin seconds before `since` that are told again
 * @param found whether there is anything to tell
 */
export function openUnknown(since: number, margin: number, clock: number, found: boolean): SyncWindow {
  const start = since > margin ? (since - margin) * 1000 - 1 : 0;
  const second = secondOf(clock);
  const given = found && second === since ? second + 1 : second;
  return { since, start, given, clock: endOf(given) };
}
