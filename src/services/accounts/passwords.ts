// Passwords: setting one, and generating one.
import type { Tx } from "../../db/statement.ts";
import { DomainError } from "../../errors.ts";
import { setPassword as setRow } from "../../store/users.ts";
import { type Actor, requirePassword } from "../actor.ts";
import type { Context } from "../context.ts";
import { transact } from "../transact.ts";
import { type Attempts, LONGEST_PASSWORD } from "./password-checker.ts";
import { deleteSignIns } from "./sessions.ts";
import { isToken } from "./tokens.ts";
import { findUser, requireSamePassword } from "./users.ts";

const SHORTEST = 8;

/**
 * Sets the user's password and ends all sessions, with what they have prepared: tokens stay.
 * @param password null to remove it: tokens still sign the user in
 * @throws DomainError "invalid" if it is too short or too long, "forbidden" if the actor signed in with a token,
 *   "unauthorized" if the user was deleted in between
 */
export async function setPassword(context: Context, actor: Actor, password: string | null): Promise<void> {
  requirePassword(actor);
  if (password !== null) requireGoodPassword(password);
  const password_hash = password === null ? null : await context.passwords.hash(password);
  const { user_id } = actor;
  const password_changed_at = context.clock.now();
  await transact(context, actor, ({ tx }) => replacePassword(tx, { user_id, password_hash, password_changed_at }));
}

const WRONG = "The current password is wrong";

/**
 * Sets a password in place of the present one. A session alone must not be enough to take an account over.
 * @returns the check for the session that begins with it
 * @throws DomainError as setPassword() does, "unauthorized" if the present one is another, also since a moment ago,
 *   "too_many" after too many failures
 */
export async function changePassword(
  context: Context,
  actor: Actor,
  { name, present, changed }: { name: string; present: string; changed: string },
  attempts: Attempts,
): Promise<() => Promise<void>> {
  requirePassword(actor);
  const user = await context.database.read((tx) => findUser(tx, name));
  const matches = await context.passwords.check(user, name, present, attempts);
  if (!matches || user?.id !== actor.user_id) throw new DomainError("unauthorized", WRONG);
  attempts.succeed(actor.user_id);
  requireGoodPassword(changed);
  const row = { password_hash: await context.passwords.hash(changed), password_changed_at: context.clock.now() };
  await transact(context, actor, async ({ tx, user_id }) => {
    await requireSamePassword(tx, { user_id, password_hash: user.password_hash }, WRONG);
    await replacePassword(tx, { user_id, ...row });
  });
  return checkPassword(context, actor.user_id, row.password_hash);
}

/** Makes a check for createSession(): that a password, which was set just now, was not replaced since. */
export const checkPassword =
  ({ database }: Context, user_id: number, password_hash: string) =>
  (): Promise<void> =>
    database.read((tx) => requireSamePassword(tx, { user_id, password_hash }));

/** Sets a password, and ends what the old one has begun. */
export async function replacePassword(tx: Tx, row: Parameters<typeof setRow>[1]): Promise<void> {
  await setRow(tx, row);
  await deleteSignIns(tx, row.user_id);
}

/** @throws DomainError "invalid" if it is too short or too long, or no keyboard types it */
export function requireGoodPassword(password: string): void {
  // Of a longer one, normalizing could take seconds.
  const length = password.length > LONGEST_PASSWORD ? password.length : password.normalize("NFC").length;
  if (length < SHORTEST || length > LONGEST_PASSWORD) {
    throw new DomainError(
      "invalid",
      `A password has ${SHORTEST} to ${LONGEST_PASSWORD} characters, this one has ${length}`,
    );
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no keyboard types them into an app's field
  if (/[\u0000-\u001f\u007f]/.test(password)) throw new DomainError("invalid", "A password has no control characters");
  // What decoders put in the place of bytes that are not UTF-8.
  if (password.includes("\ufffd")) throw new DomainError("invalid", "The password is not UTF-8 text");
  if (isToken(password)) throw new DomainError("invalid", "This is a token: a token is not a password");
}

const CONSONANTS = "bcdfghjkmnprstvz";
const VOWELS = "aeou";
const WORDS = 6;

/** A passphrase of 72 random bits that is easy to type on a phone: `tomu-keza-…`. */
export function generatePassphrase(): string {
  const syllable = (byte: number) => CONSONANTS.charAt(byte & 15) + VOWELS.charAt((byte >> 4) & 3);
  const bytes = [...crypto.getRandomValues(new Uint8Array(WORDS * 2))];
  const syllables = bytes.map(syllable);
  return Array.from({ length: WORDS }, (_, word) => syllables.slice(word * 2, word * 2 + 2).join("")).join("-");
}
