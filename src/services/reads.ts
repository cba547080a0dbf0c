// What a listener reads, together with the change stamp at which it was so.
import type { Tx } from "../db/statement.ts";
import { readClock } from "../store/users.ts";
import type { Context } from "./context.ts";

/** Tells whether the reader has seen the state at this change stamp already. */
export type Seen = (clock: number) => boolean;

/** A body with the change stamp at which it was read; null where the reader has seen it. */
export interface Read<T> {
  clock: number;
  body: T | null;
}

/** Reads `body` in the same snapshot as the user's clock, unless the reader has seen it. */
export function readAt<T>(
  { database }: Context,
  user_id: string,
  seen: Seen,
  body: (tx: Tx, clock: number) => Promise<T>,
): Promise<Read<T>> {
  const clockOf = async (tx: Tx) => (await readClock(tx, { user_id }))[0]?.clock ?? 0;
  return database.read(
    async (tx): Promise<Read<T>> => {
      const clock = await clockOf(tx);
      return { clock, body: seen(clock) ? null : await body(tx, clock) };
    },
    // Whatever changes what a listener can read moves the clock (P1).
    async (tx, { clock }) => clock === (await clockOf(tx)),
  );
}
