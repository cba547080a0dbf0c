// Work of the page that takes memory or time: one job of a user, and a few in all.
import { DomainError } from "../../errors.ts";
import { Slots } from "../../slots.ts";

/**
 * Makes a function that runs a user's job. It throws DomainError "too_many" while the user's last one runs, or as many as
 * may.
 * @param most users at a time
 * @param retry_after seconds
 */
export function oneEach(most: number, busy: string, retry_after: number) {
  const slots = new Slots(most, 1);
  return async <T>(user_id: number, job: () => Promise<T>): Promise<T> => {
    if (!slots.mayBegin(user_id)) throw new DomainError("too_many", busy, { retry_after });
    return slots.run(job, user_id);
  };
}
