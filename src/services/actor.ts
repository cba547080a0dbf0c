// Who does something: the user whose data it is, by which credential or command, and what that may do.
import type { ChangedBy } from "../domain/history.ts";
import { DomainError } from "../errors.ts";
import { requireOpen, requireUser } from "./accounts/users.ts";
import type { Context } from "./context.ts";

export type Scope = "read" | "write";

export interface Actor extends ChangedBy {
  user_id: number;
  /** Write includes read. */
  scope: Scope;
}

/** An admin who acts for a user, with the user's name as it is stored. */
export interface Admin extends Actor {
  name: string;
}

/** The columns that say who did something. */
export const writeActor = ({ kind, id, label, device }: Actor) => ({
  actor_kind: kind,
  actor_id: id,
  actor_label: label,
  actor_device: device,
});

/** @throws DomainError "unauthorized" if the actor may only read */
export function requireWrite({ scope }: Actor): void {
  if (scope === "write") return;
  throw new DomainError("unauthorized", "The token may only read", { challenge: "insufficient_scope" });
}

/** @throws DomainError "forbidden" if the actor signed in with a token: it may not change how the user signs in */
export function requirePassword({ kind, id }: Actor): void {
  if (kind === "token" || (kind === "page" && id !== null))
    throw new DomainError("forbidden", "A token may not do this: sign in with the password");
}

/** A user who signed in with the password. @param label what the app calls itself */
export const actAsUser = (user_id: number, label: string | null = null, device: string | null = null): Actor => {
  return { user_id, kind: "session", id: null, label, device, scope: "write" };
};

/**
 * An admin who acts for a user by a command.
 * @throws DomainError "not_found" for an unknown user, "conflict" for one who is being deleted
 */
export async function actAsAdmin(context: Context, user: string, label: string): Promise<Admin> {
  const found = await requireUser(context, user);
  requireOpen(found);
  const { id, name } = found;
  return { user_id: id, name, kind: "admin", id: null, label, device: null, scope: "write" };
}

/** A worker on one user's data. @param label which one; null for the deletion worker */
export function actAsWorker(user_id: number, label: string | null = null): Actor {
  return { user_id, kind: "worker", id: null, label, device: null, scope: "write" };
}
