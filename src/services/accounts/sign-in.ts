// Signing in with a user name, and the password or a token.
import { foldName } from "../../domain/user-name.ts";
import { addSubject, DomainError, isRefusal } from "../../errors.ts";
import { findUserById } from "../../store/users.ts";
import { type Actor, actAsUser } from "../actor.ts";
import type { Context } from "../context.ts";
import type { Attempts } from "./password-checker.ts";
import { authenticate, isToken } from "./tokens.ts";
import { findUser } from "./users.ts";

export interface SignedIn {
  actor: Actor;
  /** The user's name. */
  name: string;
  /** How many podcasts the user has or had. */
  podcasts: number;
  /** Of the password that signed in; null if another credential did. */
  password_hash: string | null;
}

export interface Credentials {
  /** Compared without case. */
  name: string;
  /** The user's password, or a token of the user. */
  password: string;
  /** What the app calls itself; null if it does not. */
  app: string | null;
}

/** @throws DomainError "unauthorized" if the credentials are wrong, "too_many" after too many failures */
export async function signIn(context: Context, credentials: Credentials, attempts: Attempts): Promise<SignedIn> {
  const user = await context.database.read((tx) => findUser(tx, credentials.name));
  try {
    return await signInAs(user, context, credentials, attempts);
  } catch (error) {
    throw user ? addSubject(error, { name: user.name }) : error;
  }
}

async function signInAs(
  user: Awaited<ReturnType<typeof findUser>>,
  context: Context,
  { name, password, app }: Credentials,
  attempts: Attempts,
): Promise<SignedIn> {
  if (isToken(password)) {
    const actor = await checkToken(context, password.trim(), attempts);
    if (user?.id === actor.user_id) return signedInAs(actor, user);
    const signedIn = await nameUser(context, actor);
    if (foldName(inLatin1(signedIn.name)) === foldName(name)) return signedIn;
    const subject = { token: actor.id ?? "", name: signedIn.name };
    attempts.failToken(subject);
    throw new DomainError("unauthorized", `The token is not of the user with this name: ${RENAMED}`, { subject });
  }
  const matches = await context.passwords.check(user, name, password, attempts);
  if (!user || !matches) throw new DomainError("unauthorized", "The name or the password is wrong");
  attempts.succeed(user.id);
  return { ...signedInAs(actAsUser(user.id, app), user), password_hash: user.password_hash };
}

/** An actor with what the row of its user says. */
export const signedInAs = (actor: Actor, user: { name: string; last_subscription: number }): SignedIn => {
  return { actor, name: user.name, podcasts: user.last_subscription, password_hash: null };
};

/** What to do if an app names a user who has another name. */
export const RENAMED = "if the user was renamed, enter the new name in the app";

/** A name as apps send it that write Latin-1, with ? for what that lacks (AntennaPod). */
const inLatin1 = (name: string) => name.replace(/[^\0-\xff]/gu, "?");

/** @throws as signIn() does */
export async function signInByToken(context: Context, token: string, attempts: Attempts): Promise<SignedIn> {
  return nameUser(context, await checkToken(context, token, attempts));
}

/** Waits for the check of a token. @throws as it does; "too_many" after too many that were refused */
export const countRefused = <T>(check: Promise<T>, attempts: Attempts): Promise<T> =>
  check.catch((error) => {
    if (isRefusal(error, "unauthorized")) attempts.failToken(error.extras.subject);
    throw error;
  });

async function checkToken(context: Context, token: string, attempts: Attempts): Promise<Actor> {
  const actor = await countRefused(authenticate(context, token), attempts);
  // A read-only token leaves no trace but its last use.
  if (actor.scope === "write") attempts.succeed(actor.user_id);
  return actor;
}

async function nameUser({ database }: Context, actor: Actor): Promise<SignedIn> {
  const [user] = await database.read((tx) => findUserById(tx, { user_id: actor.user_id }));
  return signedInAs(actor, user ?? { name: "", last_subscription: 0 });
}
