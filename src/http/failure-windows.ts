// Failures counted by key in windows of time, for a bounded number of keys.
import type { Clock } from "../clock.ts";

const MOST_KEYS = 10_000;
/** Of that, what is freed at once when there is no room: finding the lowest takes milliseconds. */
const FREED = MOST_KEYS / 10;

export interface Windows {
  /** The failures in a key's present window; asking makes no window. */
  failures(key: string): number;
  /** Counts a failure, in a new window if the last has passed. Returns the failures in it. */
  count(key: string): number;
  takeBack(key: string): void;
  /** Seconds until a key's window ends: at least 1, at most its length. */
  secondsLeft(key: string): number;
}

interface Window {
  start: number;
  count: number;
}

/**
 * Counts failures by key.
 * @param length of a window in milliseconds
 * @param limit failures from which on a window is kept until it ends
 */
export function createWindows(clock: Clock, length: number, limit: number): Windows {
  const windows = new Map<string, Window>();
  /** When the last one began: if it has passed, all have. */
  let newest = clock.now();

  const isPresent = ({ start }: Window) => {
    const age = clock.now() - start;
    return age >= 0 && age < length;
  };
  const find = (key: string) => {
    const window = windows.get(key);
    return window && isPresent(window) ? window : undefined;
  };

  /** Deletes windows that have passed, else those with the fewest failures; none that has reached the limit. */
  function makeRoom(): void {
    for (const [key, window] of windows) if (!isPresent(window)) windows.delete(key);
    if (windows.size <= MOST_KEYS - FREED) return;
    const below = [...windows].filter(([, { count }]) => count < limit).sort(([, a], [, b]) => a.count - b.count);
    for (const [key] of below.slice(0, FREED)) windows.delete(key);
  }

  return {
    failures: (key) => find(key)?.count ?? 0,
    count(key) {
      const known = find(key);
      if (known) return ++known.count;
      const now = clock.now();
      if (now - newest >= length) windows.clear();
      newest = now;
      windows.delete(key);
      if (windows.size >= MOST_KEYS) makeRoom();
      // If all have reached their limit, a new key is not counted: what keeps attackers out must not keep others out.
      if (windows.size < MOST_KEYS) windows.set(key, { start: now, count: 1 });
      return 1;
    },
    takeBack(key) {
      const known = find(key);
      if (known && known.count > 0) known.count--;
    },
    secondsLeft(key) {
      const left = (windows.get(key)?.start ?? Number.NEGATIVE_INFINITY) + length - clock.now();
      return Math.ceil(Math.min(Math.max(left, 1000), length) / 1000);
    },
  };
}
