// When what lasts for a short time is over.
import { sql } from "kysely";
import { mayBeRight } from "../clock.ts";

/** Wall time, and the latest end of what can have begun until then, both in Unix milliseconds. */
export type Lasting = { now: number; latest: number };

/**
 * Makes a function that says what is good at a wall time, of what lasts for `lifetime` milliseconds. What has more than
 * twice that left began while the clock was ahead, unless the clock is behind now; by less, those of several servers may
 * differ.
 */
export const lastingFor =
  (lifetime: number) =>
  (now: number): Lasting => ({ now, latest: mayBeRight(now) ? now + 2 * lifetime : Number.MAX_SAFE_INTEGER });

export const isGood = (expires_at: number, { now, latest }: Lasting) => expires_at > now && expires_at <= latest;

/** Whether a row is still good. */
export const lasts = (p: Lasting) => sql<boolean>`(expires_at > ${p.now} and expires_at <= ${p.latest})`;
export const isOver = (p: Lasting) => sql<boolean>`(not ${lasts(p)})`;
