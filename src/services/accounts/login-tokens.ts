// Logins of the draft of the Open Podcast API: short access tokens, and refresh tokens that rotate. Both sign in as a token
// that is listed and revoked like any other.
import { mayBeRight } from "../../clock.ts";
import type { Tx } from "../../db/statement.ts";
import { DomainError } from "../../errors.ts";
import { isGood, lastingFor } from "../../store/expiry.ts";
import {
  deleteExpiredLoginTokens,
  deleteFamily,
  deleteLoginTokens,
  findLoginToken,
  insertLoginTokens,
  listFamilies,
  listFamily,
  markUsed,
} from "../../store/login-tokens.ts";
import { deleteToken, extendToken, findTokenById } from "../../store/tokens.ts";
import { lockUser } from "../../store/users.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import type { Attempts } from "./password-checker.ts";
import { type Credentials, countRefused, signIn } from "./sign-in.ts";
import {
  actorOf,
  authenticate,
  createToken,
  hashSecret,
  keepToken,
  readAppName,
  refuseToken,
  revokeIn,
} from "./tokens.ts";
import { requireSamePassword } from "./users.ts";

/** Milliseconds. */
const ACCESS_TIME = 60 * 60 * 1000;
const REFRESH_TIME = 90 * 24 * 60 * 60 * 1000;
const goodAt = lastingFor(ACCESS_TIME);
/** How long refresh tokens are kept that were given out and never used, if the one before is used again. */
const UNUSED_TIME = 60 * 60 * 1000;
/** Tokens of a kind that are kept of those. */
const MOST_UNUSED = 10;
/** Refreshes of a login whose tokens are kept, to know one that is used again: each refresh reads all of them. */
const MOST_REFRESHES = 100;
/** Logins of one user by password at a time, and as many with each token: some apps log in at every sync. */
const MOST_LOGINS = 100;

/** What a login or a refresh gives; times are Unix milliseconds. */
export interface Login {
  access_token: string;
  access_time: number;
  refresh_token: string;
  refresh_expires: number;
}

type LoginToken = Awaited<ReturnType<typeof findLoginToken>>[number];
type Family = Pick<LoginToken, "user_id" | "token_id" | "family" | "owns_token">;

/**
 * Signs in with the password, which makes a token, or with a token of the user, on which the login then depends.
 * @throws DomainError "unauthorized" if the credentials are wrong, "too_many" after too many failures
 */
export async function logIn(context: Context, credentials: Credentials, attempts: Attempts): Promise<Login> {
  const { actor, password_hash } = await signIn(context, credentials, attempts);
  const { user_id, id } = actor;
  const label = readAppName(credentials.app ?? "");
  const expires_at = context.clock.now() + REFRESH_TIME;
  const { row } = createToken(context, user_id, { label, scope: "write", expires_at });
  const owns_token = id === null ? 1 : 0;
  const family: Family = { user_id, token_id: id ?? row.id, family: context.ids.random(16), owns_token };
  return context.database.write(async (tx) => {
    const [user] = await lockUser(tx, { user_id });
    // Deleted since, by another server.
    if (!user) throw new DomainError("unauthorized", "The name or the password is wrong");
    if (owns_token) await requireSamePassword(tx, { user_id, password_hash });
    await endOldLogins(tx, family);
    if (owns_token) await keepToken(tx, row);
    return issue(tx, context, family, { generation: 0, refresh_expires: expires_at });
  }, user_id);
}

// A token that may only read, or was stolen, must not end the logins of others.
async function endOldLogins(tx: Tx, { user_id, token_id, owns_token }: Family): Promise<void> {
  const all = await listFamilies(tx, { user_id });
  const families = all.filter((one) => (owns_token ? one.owns_token : one.token_id === token_id));
  for (const one of families.slice(MOST_LOGINS - 1)) {
    await deleteFamily(tx, { ...one, user_id });
    // Not revoked: the rows of those that users revoked are kept the longer.
    if (one.owns_token) await deleteToken(tx, { id: one.token_id });
  }
}

async function endFamily(tx: Tx, family: Family, revoked_at: number): Promise<void> {
  await deleteFamily(tx, family);
  if (family.owns_token) await revokeIn(tx, { id: family.token_id, revoked_at });
}

async function issue(
  tx: Tx,
  context: Context,
  family: Family,
  { generation, refresh_expires }: { generation: number; refresh_expires: number },
): Promise<Login> {
  const { user_id, ...rest } = family;
  const make = (kind: LoginToken["kind"], expires_at: number) => {
    const { token, row } = createToken(context, user_id, { label: "", scope: "write", expires_at });
    return { token, row: { ...rest, token_hash: row.hash, kind, generation, used: 0, expires_at } };
  };
  const access = make("access", context.clock.now() + ACCESS_TIME);
  const refresh = make("refresh", refresh_expires);
  await insertLoginTokens(tx, { user_id }, [access.row, refresh.row]);
  return {
    access_token: access.token,
    access_time: ACCESS_TIME,
    refresh_token: refresh.token,
    refresh_expires,
  };
}

/** A token, and the one by which it signs in. */
async function find({ database }: Context, token_hash: string) {
  return database.read(async (tx) => {
    const [found] = await findLoginToken(tx, { token_hash });
    if (!found) return null;
    const [basis] = await findTokenById(tx, { id: found.token_id });
    return { found, basis };
  });
}

/**
 * Gives a new access token, and the next refresh token. A client that never uses the next one may go on with its own,
 * because the draft's response has none; once the next one was used, the use of an earlier one ends the login.
 * @throws DomainError "unauthorized" if the token is unknown or has ended, "too_many" after too many failures
 */
export const refreshLogin = (context: Context, refresh_token: string, attempts: Attempts): Promise<Login> =>
  countRefused(refresh(context, refresh_token), attempts);

async function refresh(context: Context, refresh_token: string): Promise<Login> {
  const { database, clock } = context;
  const token_hash = hashSecret(refresh_token);
  const named = await find(context, token_hash);
  if (named?.found.kind !== "refresh") throw refuseToken("The refresh token is unknown");
  const { user_id } = actorOf(context, named.basis);
  const login = await database.write(async (tx) => {
    await lockUser(tx, { user_id });
    const now = clock.now();
    const family = await listFamily(tx, named.found);
    const own = family.find((one) => one.token_hash === token_hash);
    if (!own || own.expires_at <= now) return null;
    const present = Math.max(0, ...family.filter(({ used }) => used === 1).map(({ generation }) => generation));
    if (own.generation < present) {
      await endFamily(tx, own, now);
      return null;
    }
    await markUsed(tx, { token_hash });
    const unused = family
      .filter(({ generation }) => generation > own.generation)
      .sort((a, b) => b.expires_at - a.expires_at);
    const latestOf = (kind: LoginToken["kind"], time: number) =>
      unused.filter((one) => one.kind === kind && one.expires_at > now + time).slice(0, MOST_UNUSED - 1);
    const kept = new Set([...latestOf("access", 0), ...latestOf("refresh", REFRESH_TIME - UNUSED_TIME)]);
    const isLeft = ({ generation }: LoginToken) => generation <= own.generation - MOST_REFRESHES;
    const over = family.filter(
      (one) => one.expires_at <= now || isLeft(one) || (one.generation > own.generation && !kept.has(one)),
    );
    await deleteLoginTokens(tx, {}, over);
    // A clock that is in 1970 until a network sets it must not end the login.
    const refresh_expires = Math.max(now + REFRESH_TIME, mayBeRight(now) ? 0 : own.expires_at);
    const next = await issue(tx, context, own, { generation: own.generation + 1, refresh_expires });
    if (own.owns_token) await extendToken(tx, { id: own.token_id, expires_at: refresh_expires });
    return next;
  }, user_id);
  if (!login) throw refuseToken("The refresh token has ended", { user_id });
  return login;
}

/** Finds the actor of an access token, or of a token of ours. @throws DomainError "unauthorized" if neither is good */
export async function authenticateLogin(context: Context, token: string): Promise<Actor> {
  const named = await find(context, hashSecret(token));
  if (!named) return authenticate(context, token);
  const { found, basis } = named;
  const { user_id } = found;
  if (found.kind !== "access") throw refuseToken("A refresh token is not an access token", { user_id });
  if (!isGood(found.expires_at, goodAt(context.clock.now())))
    throw refuseToken("The access token has expired", { user_id });
  return actorOf(context, basis);
}

export async function pruneLoginTokens({ database, clock }: Pick<Context, "database" | "clock">): Promise<void> {
  await database.write((tx) => deleteExpiredLoginTokens(tx, { now: clock.now() }));
}
