// Deletes a user: one who has much in parts, so that others wait for a part only.
import { deleteDeletions } from "../../store/deletions.ts";
import { deleteAllMoves } from "../../store/episode-moves.ts";
import { unfollowSome } from "../../store/feed-lookups.ts";
import { deleteTokens } from "../../store/tokens.ts";
import { deletePartOfUser, deleteUserRows } from "../../store/transfer.ts";
import { closeUser } from "../../store/users.ts";
import type { Context } from "../context.ts";
import { replacePassword } from "./passwords.ts";
import { requireUser } from "./users.ts";

/**
 * Deletes a user with everything that belongs to the user. If it is interrupted, the user can't sign in any more, and the
 * next one deletes the rest.
 * @throws DomainError "not_found"
 */
export async function deleteUser(context: Context, name: string): Promise<void> {
  const { id } = await requireUser(context, name);
  while (!(await deletePart(context, id)));
}

/** @returns whether nothing is left */
function deletePart({ database, clock }: Context, user_id: number): Promise<boolean> {
  return database.write(async (tx) => {
    // A sync by another process ends first: what it inserts must be deleted too. No app may take what is left for the
    // whole list, also none that signed in before.
    await replacePassword(tx, { user_id, password_hash: null, password_changed_at: clock.now() });
    await closeUser(tx, { user_id });
    await deleteTokens(tx, { user_id });
    // Nor may a worker go on with it.
    await deleteDeletions(tx, { user_id });
    await deleteAllMoves(tx, { user_id });
    if ((await deletePartOfUser(tx, { user_id })) || (await unfollowSome(tx, { user_id }))) return false;
    await deleteUserRows(tx, { user_id });
    return true;
  }, user_id);
}
