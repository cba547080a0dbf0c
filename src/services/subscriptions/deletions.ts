// Deletions: read, list, retry.
import type { DeletionTable } from "../../db/schema.ts";
import { DomainError } from "../../errors.ts";
import {
  findDeletion,
  findPending,
  listDeletions as listRows,
  retryDeletion as retryRow,
  showDeletion as showRow,
} from "../../store/deletions.ts";
import { findSubscriptions } from "../../store/subscriptions.ts";
import { requireUser } from "../accounts/users.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import { transact } from "../transact.ts";

export type DeletionStatus = DeletionTable["status"];

/** A deletion; times are Unix milliseconds. */
export interface Deletion {
  id: number;
  status: DeletionStatus;
  /** True if the subscription was added again, merged or set to subscribed before the deletion ran. */
  cancelled: boolean;
  /** Why it was cancelled or what went wrong last; null if nothing did. */
  reason: string | null;
  attempts: number;
  requested_at: number;
  run_after: number;
  finished_at: number | null;
}

/** A deletion as an admin sees it. */
export interface DeletionDetails extends Deletion {
  user: string;
  /** The subscription's current guid; null if it is gone. */
  guid: string | null;
}

const CANCELLED = "cancelled, because the subscription was added again, merged or set to subscribed";

function readDeletion(row: DeletionTable): Deletion {
  const { id, status, attempts, requested_at, run_after, finished_at } = row;
  const cancelled = row.cancelled === 1;
  const reason = cancelled ? CANCELLED : row.message;
  return { id, status, cancelled, reason, attempts, requested_at, run_after, finished_at };
}

const readDetails = (row: DeletionTable & { user: string; guid: string | null }): DeletionDetails => ({
  ...readDeletion(row),
  user: row.user,
  guid: row.guid,
});

/** Reads a deletion, with the user's clock. @throws DomainError "not_found" */
export async function getDeletion(
  { database }: Context,
  { user_id }: Actor,
  id: number,
): Promise<Deletion & { clock: number }> {
  const [row] = await database.read((tx) => findDeletion(tx, { user_id, id }));
  if (!row) throw new DomainError("not_found", "No such deletion");
  return { ...readDeletion(row), clock: row.clock };
}

/** Lists all users' deletions, oldest first. @throws DomainError "not_found" for an unknown user */
export async function listDeletions(
  context: Context,
  { user, status }: { user?: string | undefined; status?: DeletionStatus | undefined } = {},
): Promise<DeletionDetails[]> {
  const name = user === undefined ? null : (await requireUser(context, user)).name;
  const rows = await context.database.read((tx) => listRows(tx, {}));
  return rows
    .filter((row) => (name === null || row.user === name) && (status === undefined || row.status === status))
    .map(readDetails);
}

/** Reads a deletion with all its details. @throws DomainError "not_found" */
export async function showDeletion({ database }: Context, { user_id }: Actor, id: number): Promise<DeletionDetails> {
  const [row] = await database.read((tx) => showRow(tx, { user_id, id }));
  if (!row) throw new DomainError("not_found", `There is no deletion ${id}`);
  return readDetails(row);
}

/**
 * Starts a failed deletion again, from its first attempt.
 * @throws DomainError "not_found", or "conflict" if it did not fail or was cancelled, or if its subscription is deleted
 * or another deletion of it is pending
 */
export async function retryDeletion(context: Context, actor: Actor, id: number): Promise<DeletionDetails> {
  await transact(context, actor, async ({ tx, user_id, nextTimestamp }) => {
    const [row] = await findDeletion(tx, { user_id, id });
    if (!row) throw new DomainError("not_found", `There is no deletion ${id}`);
    if (row.status !== "FAILURE") throw new DomainError("conflict", `Deletion ${id} is ${row.status}, not FAILURE`);
    if (row.cancelled === 1) throw new DomainError("conflict", `Deletion ${id} was ${CANCELLED}`);
    const [pending] = await findPending(tx, { user_id }, [{ subscription: row.subscription }]);
    if (pending) throw new DomainError("conflict", `Deletion ${pending.id} of the same subscription is pending`);
    const [subscription] = await findSubscriptions(tx, { user_id }, [{ id: row.subscription }]);
    if (!subscription || subscription.deleted !== null) {
      throw new DomainError("conflict", "The subscription is deleted already");
    }
    await retryRow(tx, { user_id, id, run_after: context.clock.now() });
    // The user's clock moves, so that no app keeps the response that it has of this deletion.
    nextTimestamp();
  });
  context.wakeDeletionWorker();
  return showDeletion(context, actor, id);
}
