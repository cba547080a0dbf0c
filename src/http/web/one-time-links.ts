// Values that are kept in memory for ten minutes, and taken once.
import type { Clock } from "../../clock.ts";

export interface OneTimeLinks<T> {
  put(secret: string, value: T): void;
  get(secret: string): T | undefined;
  /** Returns the value once. */
  take(secret: string): T | undefined;
}

/** Milliseconds. */
const LIFETIME = 10 * 60_000;
const MOST = 1000;

export function createOneTimeLinks<T>(clock: Pick<Clock, "now">): OneTimeLinks<T> {
  const kept = new Map<string, { value: T; expires_at: number }>();
  const get = (secret: string) => {
    const found = kept.get(secret);
    return found && found.expires_at > clock.now() ? found.value : undefined;
  };
  return {
    put(secret, value) {
      kept.delete(secret);
      if (kept.size >= MOST) kept.delete(kept.keys().next().value ?? "");
      kept.set(secret, { value, expires_at: clock.now() + LIFETIME });
    },
    get,
    take(secret) {
      const value = get(secret);
      kept.delete(secret);
      return value;
    },
  };
}
