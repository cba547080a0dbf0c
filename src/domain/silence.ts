// Whether a device is silent for longer than it usually is.

const DAY = 24 * 60 * 60_000;
/** A device is not silent before that, however often it syncs. */
const SHORTEST_SILENCE = DAY;
/** The same of a device that has synced once. */
const FIRST_SILENCE = 7 * DAY;

/** Whether a device has been silent for twice its usual pause, and a day. @param now Unix milliseconds */
export function isSilent(
  { last_sync_at, usual_pause }: { last_sync_at: number; usual_pause: number | null },
  now: number,
): boolean {
  const most = usual_pause === null ? FIRST_SILENCE : Math.max(SHORTEST_SILENCE, 2 * usual_pause);
  return now - last_sync_at > most;
}
