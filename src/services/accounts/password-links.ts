// Links by which users choose their password: they work once, for seven days.
import { DomainError } from "../../errors.ts";
import { lastingFor } from "../../store/expiry.ts";
import {
  deletePasswordLink,
  findPasswordLink as findRow,
  insertPasswordLink,
  takePasswordLink,
} from "../../store/password-links.ts";
import { type Actor, actAsUser } from "../actor.ts";
import type { Context } from "../context.ts";
import { transact } from "../transact.ts";
import { checkPassword, replacePassword, requireGoodPassword } from "./passwords.ts";
import { hashSecret } from "./tokens.ts";

/** Milliseconds. */
const LIFETIME = 7 * 24 * 60 * 60 * 1000;
const goodAt = lastingFor(LIFETIME);
/** Characters of 5 bits. */
const SECRET_LENGTH = 32;

/**
 * Creates a link for the actor's user, in place of an older one. @returns its secret and when it ends
 * @throws DomainError "not_found" if the user was deleted in between
 */
export async function createPasswordLink(
  context: Context,
  actor: Actor,
): Promise<{ secret: string; expires_at: number }> {
  const secret = context.ids.random(SECRET_LENGTH);
  const expires_at = context.clock.now() + LIFETIME;
  await transact(context, actor, async ({ tx, user_id }) => {
    await deletePasswordLink(tx, { user_id });
    await insertPasswordLink(tx, { user_id, link_hash: hashSecret(secret), expires_at });
  });
  return { secret, expires_at };
}

export interface PasswordLink {
  user_id: number;
  /** The user's name. */
  name: string;
  /** True if the user has no password yet. */
  isFirst: boolean;
}

/** The user who may choose a password by a link. @throws DomainError "gone" if it is unknown, over, or was used */
export async function findPasswordLink({ database, clock }: Context, secret: string): Promise<PasswordLink> {
  const asked = { link_hash: hashSecret(secret), ...goodAt(clock.now()) };
  const [row] = await database.read((tx) => findRow(tx, asked));
  if (!row) throw gone();
  return { user_id: row.user_id, name: row.name, isFirst: row.password_hash === null };
}

/**
 * Sets the password of the link's user and ends the user's sessions; tokens stay.
 * @returns `check` is for the session that begins with it
 * @throws DomainError as findPasswordLink() does; "invalid" for a bad password, and then the link still works
 */
export async function usePasswordLink(
  context: Context,
  secret: string,
  password: string,
): Promise<PasswordLink & { actor: Actor; check: () => Promise<void> }> {
  const link = await findPasswordLink(context, secret);
  requireGoodPassword(password);
  const password_hash = await context.passwords.hash(password);
  const now = context.clock.now();
  const { user_id } = link;
  await context.database.write(async (tx) => {
    const [taken] = await takePasswordLink(tx, { link_hash: hashSecret(secret), ...goodAt(now) });
    if (!taken) throw gone();
    await replacePassword(tx, { user_id, password_hash, password_changed_at: now });
  }, user_id);
  return { ...link, actor: actAsUser(user_id), check: checkPassword(context, user_id, password_hash) };
}

const gone = () => new DomainError("gone", "The link was used, replaced by a newer one, or its seven days are over");
