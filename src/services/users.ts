// Users.
import { DomainError } from "../errors.ts";
import { deleteTokens } from "../store/tokens.ts";
import {
  anyUser,
  deleteUser as deleteRow,
  findUser,
  insertUser,
  latestClock,
  listUsers as listRows,
} from "../store/users.ts";
import type { Context } from "./context.ts";

const NAME = /^[\p{L}\p{N}][\p{L}\p{N}._@+-]{0,63}$/u;

/** Creates a user. @throws DomainError "invalid" if the name is not allowed, "conflict" if it is taken */
export async function createUser(
  { database, clock, ids }: Context,
  name: string,
): Promise<{ id: string; name: string }> {
  if (!NAME.test(name)) {
    throw new DomainError(
      "invalid",
      "A user name is 1 to 64 letters, digits and . _ @ + -, and begins with a letter or digit",
    );
  }
  const id = ids.random(16);
  await database.write(async (tx) => {
    if ((await findUser(tx, { name })).length > 0) throw new DomainError("conflict", `There is a user ${name} already`);
    await insertUser(tx, { user_id: id, name, created_at: clock.now() });
  });
  return { id, name };
}

/** Lists users by name, each with the number of subscriptions and of tokens that were not revoked. */
export function listUsers({ database }: Context) {
  return database.read((tx) => listRows(tx, {}));
}

export async function hasUsers({ database }: Context): Promise<boolean> {
  return (await database.read((tx) => anyUser(tx, {}))).length > 0;
}

/** The user of this name. @throws DomainError "not_found" */
export async function requireUser({ database }: Context, name: string): Promise<{ id: string; name: string }> {
  const [user] = await database.read((tx) => findUser(tx, { name }));
  if (!user) throw new DomainError("not_found", `There is no user ${name}`);
  return user;
}

/** Deletes a user with all tokens, subscriptions and deletions. @throws DomainError "not_found" */
export async function deleteUser(context: Context, name: string): Promise<void> {
  const { id } = await requireUser(context, name);
  await context.database.write(async (tx) => {
    // On a sharded PostgreSQL, no foreign key goes from tokens to users.
    await deleteTokens(tx, { user_id: id });
    await deleteRow(tx, { user_id: id });
  }, id);
}

/** The latest timestamp given out to any user; null if there is none. */
export async function latestTimestamp({ database }: Context): Promise<number | null> {
  return (await database.read((tx) => latestClock(tx, {})))[0]?.clock || null;
}
