// Deletion records: what a listener may read, and what an admin may do about them.

import type { DeletionTable } from "../db/schema.ts";
import { DomainError } from "../errors.ts";
import { type Deletion, MESSAGES } from "../http/openpodcast/schemas/deletions.ts";
import { findDeletion, findPending, listDeletions as listRows, retryDeletion as retryRow } from "../store/deletions.ts";
import { findSubscriptions } from "../store/subscriptions.ts";
import type { Context } from "./context.ts";
import type { Read } from "./reads.ts";
import { transact } from "./transact.ts";
import { requireUser } from "./users.ts";

const CALLED_OFF = "called off, because the subscription was added again";

/** A deletion as an admin sees it. */
export interface DeletionRecord extends Deletion {
  user: string;
  /** The subscription's current guid; null where it is gone. */
  guid: string | null;
  called_off: boolean;
  attempts: number;
  /** What went wrong last. */
  error: string | null;
  requested_at: number;
  run_after: number;
  finished_at: number | null;
}

function describe(row: DeletionTable): Deletion {
  const reason = row.cancelled === 1 ? CALLED_OFF : row.message;
  const detail = row.status === "FAILURE" && reason !== null ? `: ${reason}` : "";
  return { deletion_id: row.id, status: row.status, message: MESSAGES[row.status] + detail };
}

/** Reads the outcome of a deletion. @throws DomainError "not_found" */
export async function getDeletion({ database }: Context, user_id: string, id: number): Promise<Read<Deletion>> {
  const [row] = await database.read((tx) => findDeletion(tx, { user_id, id }));
  if (!row) throw new DomainError("not_found", "There is no such deletion");
  return { clock: row.clock, body: describe(row) };
}

/** Lists deletions, oldest first. @throws DomainError "not_found" where there is no such user */
export async function listDeletions(
  context: Context,
  filter: { user?: string | undefined; status?: Deletion["status"] | undefined } = {},
): Promise<DeletionRecord[]> {
  if (filter.user !== undefined) await requireUser(context, filter.user);
  const rows = await context.database.read((tx) => listRows(tx, {}));
  return rows
    .filter((row) => filter.user === undefined || row.user === filter.user)
    .filter((row) => filter.status === undefined || row.status === filter.status)
    .map((row) => ({
      ...describe(row),
      user: row.user,
      guid: row.guid,
      called_off: row.cancelled === 1,
      attempts: row.attempts,
      error: row.message,
      requested_at: row.requested_at,
      run_after: row.run_after,
      finished_at: row.finished_at,
    }));
}

/** Shows one deletion of a user. @throws DomainError "not_found" */
export async function showDeletion(context: Context, user: string, id: number): Promise<DeletionRecord> {
  const record = (await listDeletions(context, { user })).find((one) => one.deletion_id === id);
  if (!record) throw new DomainError("not_found", `${user} has no deletion ${id}`);
  return record;
}

/**
 * Has a failed deletion tried again from the first attempt on.
 * @throws DomainError "not_found", or "conflict" where it did not fail, was called off, or its subscription is being
 * deleted by another one or gone
 */
export async function retryDeletion(context: Context, user: string, id: number): Promise<DeletionRecord> {
  const { id: user_id } = await requireUser(context, user);
  await transact(context, user_id, async ({ tx, stamp }) => {
    const [row] = await findDeletion(tx, { user_id, id });
    if (!row) throw new DomainError("not_found", `${user} has no deletion ${id}`);
    if (row.status !== "FAILURE") throw new DomainError("conflict", `Deletion ${id} is ${row.status}, not FAILURE`);
    if (row.cancelled === 1) throw new DomainError("conflict", `Deletion ${id} was ${CALLED_OFF}`);
    const [pending] = await findPending(tx, { user_id }, [{ subscription: row.subscription }]);
    if (pending)
      throw new DomainError("conflict", `The subscription is being deleted already, by deletion ${pending.id}`);
    const [subscription] = await findSubscriptions(tx, { user_id }, [{ id: row.subscription }]);
    if (!subscription || subscription.deleted !== null) {
      throw new DomainError("conflict", "The subscription is gone already");
    }
    await retryRow(tx, { user_id, id, run_after: context.clock.now() });
    // Moves the user's clock, so that no client goes on with the answer that it had of this deletion.
    stamp();
  });
  context.wakeWorker();
  return showDeletion(context, user, id);
}
