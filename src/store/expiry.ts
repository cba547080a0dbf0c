// When what lasts for a short time is over.
import { sql } from "kysely";

export type Lasting = { now: number; latest: number };

/** Makes a function that says what is good at a wall time, of rows that last for `lifetime` milliseconds. */
export const lastingFor =
  (lifetime: number) =>
  (now: number): Lasting => ({ now, latest: now + 2 * lifetime });

/**
 * Whether a row is still good. One that has more than twice its lifetime before it was made while the clock was ahead;
 * by less, the clocks of several servers may differ.
 */
export const lasts = (p: Lasting) => sql<boolean>`(expires_at > ${p.now} and expires_at <= ${p.latest})`;
export const isOver = (p: Lasting) => sql<boolean>`(not ${lasts(p)})`;
