// Deletes a user.
import { deleteOwnLookups } from "../store/feed-lookups.ts";
import { deleteUserRows } from "../store/transfer.ts";
import { lockUser } from "../store/users.ts";
import type { Context } from "./context.ts";
import { requireUser } from "./users.ts";

/** Deletes a user with everything that belongs to the user. @throws DomainError "not_found" */
export async function deleteUser(context: Context, name: string): Promise<void> {
  const { id } = await requireUser(context, name);
  await context.database.write(async (tx) => {
    // A sync by another process ends first: what it inserts must be deleted too.
    await lockUser(tx, { user_id: id });
    await deleteOwnLookups(tx, { user_id: id });
    await deleteUserRows(tx, { user_id: id });
  }, id);
}
