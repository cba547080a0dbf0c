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
  /** The user's clock: the last timestamp given out, in this transaction too. */
  clock(): number;
  /** Moves the user's clock on, so that no later change has a timestamp up to this one. */
  moveClock(timestamp: number): void;
  nextSubscription(): number;
  nextDeletion(): number;
}

/**
 * Runs `work` with the user's row locked, and stores the timestamps and ids that it took. `work` may run more than once.
 * @throws DomainError "unauthorized" if the actor may only read, "not_found" if there is no such user
 */
export function transact<T>(
  context: Pick<Context, "database" | "clock">,
  actor: Actor,
  work: (user: UserTx) => Promise<T>,
): Promise<T> {
  requireWrite(actor);
  return transactAsReader(context, actor, work);
}

/** The same for actors that may only read: `work` keeps what the actor's app has read. @throws as `transact` does */
export function transactAsReader<T>(
  { database, clock: wall }: Pick<Context, "database" | "clock">,
  actor: Actor,
  work: (user: UserTx) => Promise<T>,
): Promise<T> {
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
      clock: () => clock,
      moveClock: (timestamp) => {
        clock = Math.max(clock, timestamp);
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
