// The first user, made in the browser with the code that the server printed.
import { DomainError } from "../../errors.ts";
import { findSetupCode, insertSetupCode, takeSetupCode } from "../../store/setup-codes.ts";
import { anyUser, setPassword } from "../../store/users.ts";
import { type Actor, actAsUser } from "../actor.ts";
import type { Context } from "../context.ts";
import type { Attempts } from "./password-checker.ts";
import { requireGoodPassword } from "./passwords.ts";
import { addUser, hasUsers, requireName } from "./users.ts";

/** Characters of 5 bits, in groups that people can type. */
const CODE_LENGTH = 16;
const GROUP = /.{4}(?=.)/g;

/** The code that makes the first user, the same for all servers until then; null if there is a user. */
export async function prepareSetup({ database, ids }: Context): Promise<string | null> {
  const random = ids.random(CODE_LENGTH);
  const code = await database.write(async (tx) => {
    if ((await anyUser(tx, {})).length > 0) return null;
    await insertSetupCode(tx, { code: random });
    return (await findSetupCode(tx, {}))[0]?.code ?? null;
  });
  return code?.toUpperCase().replace(GROUP, "$&-") ?? null;
}

/** @throws DomainError "gone" if the code is wrong or there is a user, "too_many" after too many wrong ones */
export async function requireSetupCode(context: Context, code: string, attempts: Attempts): Promise<void> {
  const [row] = await context.database.read((tx) => findSetupCode(tx, {}));
  const known = row && !(await hasUsers(context));
  if (known && isEqual(code.toLowerCase().replaceAll("-", ""), row.code)) return;
  attempts.fail();
  throw new DomainError("gone", "The setup code is wrong or was used");
}

/**
 * Creates the first user, with a password. @returns the user, signed in
 * @throws DomainError as requireSetupCode() does; "invalid" for a bad name or password
 */
export async function setUp(
  context: Context,
  code: string,
  { name, password }: { name: string; password: string },
  attempts: Attempts,
): Promise<Actor> {
  await requireSetupCode(context, code, attempts);
  const named = requireName(name);
  requireGoodPassword(password);
  const password_hash = await context.passwords.hash(password);
  const password_changed_at = context.clock.now();
  const user_id = await context.database.write(async (tx) => {
    const [taken] = await takeSetupCode(tx, {});
    if (!taken || (await anyUser(tx, {})).length > 0)
      throw new DomainError("gone", "The setup code was used: there is a user already");
    const { id } = await addUser(tx, context, named);
    await setPassword(tx, { user_id: id, password_hash, password_changed_at });
    return id;
  });
  return actAsUser(user_id);
}

// Hashes, so that the time says nothing of the code, nor of its length.
const hashOf = (text: string) => Bun.SHA256.hash(text) as Uint8Array;
const isEqual = (a: string, b: string) => crypto.timingSafeEqual(hashOf(a), hashOf(b));
