// Bearer tokens: shown once, recognised by their hash, revoked immediately.
import type { Tx } from "../../db/statement.ts";
import { isWritable } from "../../domain/date-time.ts";
import { DomainError, type Subject, unlessRefused } from "../../errors.ts";
import {
  deleteOldTokens,
  deleteToken,
  findToken,
  findTokenById,
  insertToken,
  listTokens as listRows,
  MOST_TOKENS,
  revokeToken as revokeRow,
  useToken,
} from "../../store/tokens.ts";
import { isClosed, lockUser } from "../../store/users.ts";
import { type Actor, actAsAdmin, requirePassword, type Scope } from "../actor.ts";
import type { Context } from "../context.ts";
import { createDeviceOfToken } from "../devices/devices.ts";
import { transact } from "../transact.ts";
import { listUsers, requireSamePassword, requireUser } from "./users.ts";
import { noteUse } from "./uses.ts";

const TOKEN = /^podkeep_([a-z2-7]{10})_([a-z2-7]{26})([0-9a-z]{7})$/;
/** Milliseconds between two records of a token's use. */
const USE_INTERVAL = 60 * 60 * 1000;
/** Milliseconds that a temporary token lasts at most: the clock of the server that reads it may be ahead. */
const TEMPORARY = 15 * 60_000;
const LONGEST_LABEL = 100;
const LONGEST_APP_NAME = 40;

const checksum = (text: string) => Bun.hash.crc32(text).toString(36).padStart(7, "0");
/** The hash by which a token, a link or a login flow is found. */
export const hashSecret = (secret: string): string => Bun.SHA256.hash(secret, "hex");

/** Whether a text has the form of a token, with spaces around it as pasted ones have; its checksum may be wrong. */
export const isToken = (text: string) => TOKEN.test(text.trim());

/** @throws DomainError "invalid" if the text can't be a token's label */
export function checkLabel(label: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they would garble the terminal that lists labels
  if (label.length > LONGEST_LABEL || /[\u0000-\u001f\u007f]/.test(label)) {
    throw new DomainError("invalid", `A label has up to ${LONGEST_LABEL} printable characters`);
  }
}

/**
 * Issues a token for the actor's user; the only time that it is seen whole.
 * @param expires_at wall time in Unix milliseconds; null for never
 * @throws DomainError "invalid" for a bad label or expiry, "forbidden" if the actor signed in with a token, "not_found" if
 * the user was deleted in between
 */
export async function issueToken(
  context: Context,
  actor: Actor,
  { label, scope, expires_at }: { label: string; scope: Scope; expires_at: number | null },
): Promise<{ id: string; token: string }> {
  requirePassword(actor);
  const { token, row } = createToken(context, actor.user_id, { label, scope, expires_at });
  if (expires_at !== null && expires_at <= row.created_at)
    throw new DomainError("invalid", "The expiry is in the past");
  await transact(context, actor, ({ tx }) => keepToken(tx, row));
  return { id: row.id, token };
}

/**
 * Issues a token to the app that has the password of the actor's user, and creates a device for it.
 * @param name what the app calls itself
 * @param password_hash of that password
 * @throws DomainError "forbidden" if the actor signed in with a token, "unauthorized" if the password was replaced since
 */
export async function issueAppToken(
  context: Context,
  actor: Actor,
  { name, password_hash }: { name: string; password_hash: string | null },
): Promise<string> {
  requirePassword(actor);
  const { user_id } = actor;
  const { token, row } = createToken(context, user_id, { label: readAppName(name), scope: "write", expires_at: null });
  await transact(context, actor, async ({ tx }) => {
    await requireSamePassword(tx, { user_id, password_hash });
    await insertAppToken(tx, row);
  });
  return token;
}

type NewToken = ReturnType<typeof createToken>["row"];

/** Inserts a token. One too many ends the one that was revoked first or, if none is, was not used for longest. */
export async function keepToken(tx: Tx, row: NewToken): Promise<void> {
  await insertToken(tx, { ...row, last_used_at: null, revoked_at: null });
  await deleteOldTokens(tx, { user_id: row.user_id, id: row.id, kept: MOST_TOKENS - 1 });
}

/** Inserts the token of an app, and its device. */
export async function insertAppToken(tx: Tx, row: NewToken): Promise<void> {
  await keepToken(tx, row);
  const { id, user_id, label, scope, created_at } = row;
  await createDeviceOfToken(tx, { user_id, kind: "token", id, label, device: null, scope }, created_at);
}

/** What an app calls itself, as far as it looks like a name: the page shows it to a user who is to trust it. */
export const readAppName = (text: string): string =>
  text
    .replace(/[^\p{L}\p{N} ._-]/gu, "")
    .slice(0, LONGEST_APP_NAME)
    .trim() || "App";

/** Makes a token whose row is to be inserted. @throws DomainError "invalid" for a bad label or expiry */
export function createToken(
  { clock, ids }: Pick<Context, "clock" | "ids">,
  user_id: number,
  { label, scope, expires_at }: { label: string; scope: Scope; expires_at: number | null },
) {
  const now = clock.now();
  checkLabel(label);
  if (expires_at !== null && !isWritable(expires_at))
    throw new DomainError("invalid", "The expiry is after the year 9999");
  const id = ids.random(10);
  const body = `podkeep_${id}_${ids.random(26)}`;
  const token = body + checksum(body);
  return { token, row: { id, user_id, label, scope, hash: hashSecret(token), created_at: now, expires_at } };
}

/**
 * Runs `work` with a token that can read and is deleted after it; null if there is no user, or the database
 * can't be written.
 */
export async function withTemporaryToken<T>(context: Context, work: (token: string | null) => Promise<T>): Promise<T> {
  const user = (await listUsers(context)).find((one) => !isClosed(one));
  if (!user) return work(null);
  const actor = await actAsAdmin(context, user.name, "doctor");
  const expires_at = context.clock.now() + TEMPORARY;
  const issuing = issueToken(context, actor, { label: "doctor", scope: "read", expires_at });
  const issued = await unlessRefused(issuing, "unavailable", "unauthorized");
  if (!issued) return work(null);
  try {
    return await work(issued.token);
  } finally {
    await context.database.write((tx) => deleteToken(tx, { id: issued.id }));
  }
}

/** Whether a token still signs in; one that doesn't never will again. @param now wall time in Unix milliseconds */
export const isLive = (token: { revoked_at: number | null; expires_at: number | null }, now: number) =>
  token.revoked_at === null && (token.expires_at === null || token.expires_at > now);

/** Lists tokens without their secrets. @throws DomainError "not_found" for an unknown user */
export async function listTokens(context: Context, user?: string) {
  const name = user === undefined ? null : (await requireUser(context, user)).name;
  const rows = await context.database.read((tx) => listRows(tx, {}));
  return rows.filter((row) => name === null || row.user === name);
}

/** Revokes a token. What its clients hold stays for a new token of the same device. */
export async function revokeIn(tx: Tx, token: { id: string; revoked_at: number }) {
  const [found] = await findTokenById(tx, token);
  // Syncs that began before end first.
  if (found) await lockUser(tx, found);
  const [row] = await revokeRow(tx, token);
  return row;
}

/** Revokes a token immediately. @returns when it was revoked @throws DomainError "not_found" */
export async function revokeToken({ database, clock }: Context, id: string): Promise<number> {
  const row = await database.write((tx) => revokeIn(tx, { id, revoked_at: clock.now() }));
  if (!row) throw new DomainError("not_found", `There is no token ${id}`);
  return row.revoked_at ?? clock.now();
}

/** An actor, and the user's clock when its token was read: nothing that the user can read changes without it (P1). */
export interface TokenActor extends Actor {
  readonly clock: number;
}

/**
 * Finds the actor of a token.
 * @throws DomainError "unauthorized" if it is mistyped, unknown, expired or revoked
 */
export async function authenticate(context: Context, token: string): Promise<TokenActor> {
  const match = TOKEN.exec(token);
  if (!match || checksum(token.slice(0, -7)) !== match[3]) throw refuseToken("The token is mistyped");
  const [row] = await context.database.read((tx) => findToken(tx, { hash: hashSecret(token) }));
  return { ...actorOf(context, row), clock: row?.clock ?? 0 };
}

type FoundToken = Awaited<ReturnType<typeof findTokenById>>[number];

/** The actor of a token as it is stored. @throws DomainError "unauthorized" if it is unknown, expired or revoked */
export function actorOf(context: Context, row: FoundToken | undefined, device: string | null = null): Actor {
  const now = context.clock.now();
  if (!row) throw refuseToken("The token is unknown");
  const subject = { user_id: row.user_id, token: row.id };
  if (row.revoked_at !== null) throw refuseToken("The token was revoked", subject);
  if (row.expires_at !== null && row.expires_at <= now) throw refuseToken("The token has expired", subject);
  if (row.last_used_at === null || Math.abs(now - row.last_used_at) >= USE_INTERVAL) {
    noteUse(context, row.hash, () =>
      context.database.write((tx) => useToken(tx, { hash: row.hash, last_used_at: now }), row.user_id, "uses"),
    );
  }
  return { user_id: row.user_id, kind: "token", id: row.id, label: row.label, device, scope: row.scope };
}

/** The error for a token that does not sign in. @param subject whose it is, for the log */
export function refuseToken(message: string, subject?: Subject): DomainError {
  return new DomainError("unauthorized", message, { challenge: "invalid_token", ...(subject && { subject }) });
}
