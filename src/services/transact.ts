// The one way to change a user's data: the user's row is the lock, and its clock gives the stamps (P1).
import type { Clock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import { statement, type Tx } from "../db/statement.ts";
import { DomainError } from "../errors.ts";

/** Locks the user's row for the rest of the transaction and reads its counters. */
const lockUser = statement((db, p: { user_id: string }) =>
  db
    .updateTable("users")
    .set((row) => ({ clock: row.ref("clock") }))
    .where("id", "=", p.user_id)
    .returning(["clock", "last_subscription", "last_deletion"]),
);

const saveCounters = statement(
  (db, p: { user_id: string; clock: number; last_subscription: number; last_deletion: number }) =>
    db
      .updateTable("users")
      .set({ clock: p.clock, last_subscription: p.last_subscription, last_deletion: p.last_deletion })
      .where("id", "=", p.user_id),
);

/** A write transaction of one user. */
export interface Transaction {
  readonly tx: Tx;
  readonly user_id: string;
  /** The next change stamp: past the user's clock, and not before the wall clock. */
  stamp(): number;
  nextSubscription(): number;
  nextDeletion(): number;
}

/**
 * Runs `work` with the user's row locked and stores the stamps and ids that it drew.
 * @throws DomainError "not_found" where there is no such user
 */
export function transact<T>(
  context: { database: Database; clock: Clock },
  user_id: string,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  return context.database.write(async (tx) => {
    const [user] = await lockUser(tx, { user_id });
    if (!user) throw new DomainError("not_found", "There is no such user");
    let { clock, last_subscription, last_deletion } = user;
    const result = await work({
      tx,
      user_id,
      stamp: () => {
        clock = clock === user.clock ? Math.max(context.clock.now(), clock + 1) : clock + 1;
        return clock;
      },
      nextSubscription: () => ++last_subscription,
      nextDeletion: () => ++last_deletion,
    });
    if (clock !== user.clock || last_subscription !== user.last_subscription || last_deletion !== user.last_deletion) {
      await saveCounters(tx, { user_id, clock, last_subscription, last_deletion });
    }
    return result;
  }, user_id);
}
