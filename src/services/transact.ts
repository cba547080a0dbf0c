// One user's write transaction: the user's row is the lock, and its clock gives the timestamps (P1).
import type { Tx } from "../db/statement.ts";
import { DomainError } from "../errors.ts";
import { lockUser, saveCounters } from "../store/users.ts";
import { type Actor, requireWrite } from "./actor.ts";
import type { Context } from "./context.ts";

/** A write transaction on one user's data. */
export interface UserTx {
  readonly tx: Tx;
  readonly actor: Actor;
  readonly user_id: string;
  /** The next timestamp: later than the user's clock, and not before the wall clock. */
  nextTimestamp(): number;
  nextSubscription(): number;
  nextDeletion(): number;
}

/**
 * Runs `work` with the user's row locked, and stores the timestamps and ids that it took. `work` may run more than once.
 * @throws DomainError "unauthorized" if the actor may only read, "not_found" if there is no such user
 */
export function transact<T>(
  { database, clock: wall }: Pick<Context, "database" | "clock">,
  actor: Actor,
  work: (user: UserTx) => Promise<T>,
): Promise<T> {
  requireWrite(actor);
  const { user_id } = actor;
  return database.write(async (tx) => {
    const [row] = await lockUser(tx, { user_id });
    if (!row) throw new DomainError("not_found", "There is no such user");
    let { clock, last_subscription, last_deletion } = row;
    const result = await work({
      tx,
      actor,
      user_id,
      nextTimestamp: () => {
        clock = clock === row.clock ? Math.max(wall.now(), clock + 1) : clock + 1;
        return clock;
      },
      nextSubscription: () => ++last_subscription,
      nextDeletion: () => ++last_deletion,
    });
    if (clock !== row.clock || last_subscription !== row.last_subscription || last_deletion !== row.last_deletion) {
      await saveCounters(tx, { user_id, clock, last_subscription, last_deletion });
    }
    return result;
  }, user_id);
}
