// Users.
import type { UserTable } from "../../db/schema.ts";
import type { Tx } from "../../db/statement.ts";
import { readNewName, readUserName, type UserName } from "../../domain/user-name.ts";
import { DomainError } from "../../errors.ts";
import { takeSetupCode } from "../../store/setup-codes.ts";
import {
  anyUser,
  findName,
  findPublicId,
  findUserById,
  findUsers,
  insertUser,
  isClosed,
  latestClock,
  listUsers as listRows,
  listUsersAfter,
  renameUser as renameRow,
} from "../../store/users.ts";
import { nextTurn } from "../../turns.ts";
import type { Context } from "../context.ts";

type User = Pick<UserTable, "id" | "public_id" | "name">;

/** Letters of a public id. */
const ID_LENGTH = 6;

/** The user of a name, which is compared without case. Exactly this name comes first. */
export async function findUser(tx: Tx, name: string) {
  const wanted = readUserName(name);
  return wanted && findNamed(tx, wanted);
}

async function findNamed(tx: Tx, wanted: UserName) {
  const rows = await findUsers(tx, wanted);
  return rows.find(({ name }) => name === wanted.name) ?? rows[0] ?? null;
}

/** Creates a user. @throws DomainError "invalid" if the name is not allowed, "conflict" if it is taken in any case */
export async function createUser(context: Context, name: string): Promise<User> {
  const named = requireName(name);
  return context.database.write((tx) => addUser(tx, context, named));
}

/** Adds a user, and ends the code that makes the first one. @throws DomainError "conflict" if the name is taken */
export async function addUser(tx: Tx, { clock, ids }: Context, named: UserName): Promise<User> {
  const public_id = await drawId(tx, ids);
  await takeSetupCode(tx, {});
  const taken = await findNamed(tx, named);
  if (taken) refuseTaken(taken);
  const [made] = await insertUser(tx, { public_id, ...named, created_at: clock.now() });
  if (!made) throw new Error("An insert returned no row");
  return { id: made.id, public_id, name: named.name };
}

/** Draws a public id that no user has: among 10,000 users, the chance that two would get the same one is 5 %. */
async function drawId(tx: Tx, ids: Context["ids"]): Promise<string> {
  for (;;) {
    const id = ids.random(ID_LENGTH);
    if ((await findPublicId(tx, { public_id: id })).length === 0) return id;
  }
}

/** Reads a user's new name. @throws DomainError "invalid" if it is not allowed */
export function requireName(text: string): UserName {
  const named = readNewName(text);
  if (named) return named;
  throw new DomainError(
    "invalid",
    `"${text}" is not a user name: 1 to 64 letters, digits and . _ @ + -, the first one a letter or digit`,
  );
}

/**
 * Renames a user; tokens and sessions stay valid.
 * @returns the former name, and the new one as it is kept
 * @throws DomainError "not_found", "invalid" if the new name is not allowed, "conflict" if it is taken in any case, or the
 *   user is being deleted
 */
export async function renameUser(
  { database }: Context,
  name: string,
  to: string,
): Promise<{ before: string; name: string }> {
  const named = requireName(to);
  return database.write(async (tx) => {
    const user = await findUser(tx, name);
    if (!user) throw noUser(name);
    requireOpen(user);
    const taken = await findNamed(tx, named);
    if (taken && taken.id !== user.id) refuseTaken(taken);
    const renamed = await renameRow(tx, { user_id: user.id, from: user.name, ...named });
    if (renamed.length === 0) throw noUser(name);
    return { before: user.name, name: named.name };
  });
}

/** Lists users by name, each with the number of subscriptions, of tokens that were not revoked, and the last sync. */
export function listUsers({ database }: Context) {
  return database.read((tx) => listRows(tx, {}));
}

/** Users whose ids are in `after` < id <= `last`, with their clocks. */
interface UserPage {
  after: number;
  last: number;
  users: { id: number; clock: number }[];
}

/** Reads all users in the order of their ids, until `signal` aborts; others get a turn between pages. */
export async function* readUsers(
  { database }: Pick<Context, "database">,
  { size, signal }: { size: number; signal?: AbortSignal | undefined },
): AsyncGenerator<UserPage> {
  for (let after = 0; ; ) {
    await nextTurn();
    if (signal?.aborted) return;
    const users = await database.read((tx) => listUsersAfter(tx, { after, limit: size }));
    const last = users.at(-1)?.id;
    if (last === undefined) return;
    yield { after, last, users };
    after = last;
  }
}

/** Users whose ids are read at a time. */
const BATCH = 100;

/** The ids of all users, until `signal` aborts. */
export async function* streamUserIds(context: Pick<Context, "database">, signal?: AbortSignal): AsyncGenerator<number> {
  for await (const { users } of readUsers(context, { size: BATCH, signal })) {
    for (const { id } of users) {
      if (signal?.aborted) return;
      yield id;
    }
  }
}

export async function hasUsers({ database }: Context): Promise<boolean> {
  return (await database.read((tx) => anyUser(tx, {}))).length > 0;
}

/** The user of this name, compared without case, also one who is being deleted. @throws DomainError "not_found" */
export async function requireUser({ database }: Context, name: string) {
  const user = await database.read((tx) => findUser(tx, name));
  if (!user) throw noUser(name);
  return user;
}

/** @throws DomainError "conflict" if the user is being deleted */
export function requireOpen(user: Pick<UserTable, "name" | "session_key">): void {
  if (!isClosed(user)) return;
  const rest = `podkeep user delete ${user.name} deletes the rest`;
  throw new DomainError("conflict", `The user ${user.name} is being deleted, or that was interrupted: ${rest}`);
}

/**
 * Before a password makes something that lasts, in the transaction that does so: checking a password takes a while.
 * @param password_hash of the password that signed in; null if the user has none
 * @param message for the user
 * @throws DomainError "unauthorized" if it was replaced since
 */
export async function requireSamePassword(
  tx: Tx,
  { user_id, password_hash }: Pick<UserTable, "password_hash"> & { user_id: number },
  message = "The password was replaced",
): Promise<void> {
  const [user] = await findUserById(tx, { user_id });
  if (user?.password_hash !== password_hash) throw new DomainError("unauthorized", message);
}

function refuseTaken(user: Parameters<typeof requireOpen>[0]): never {
  requireOpen(user);
  throw new DomainError("conflict", `There is a user ${user.name} already`);
}

const noUser = (name: string) => new DomainError("not_found", `There is no user ${name}`);

/** The name of a user; undefined for an unknown user. */
export async function findUserName(
  { database }: Pick<Context, "database">,
  user_id: number,
): Promise<string | undefined> {
  return (await database.read((tx) => findName(tx, { user_id })))[0]?.name;
}

/** The latest timestamp given out to any user; null if there is none. */
export async function latestTimestamp({ database }: Context): Promise<number | null> {
  return (await database.read((tx) => latestClock(tx, {})))[0]?.clock || null;
}
