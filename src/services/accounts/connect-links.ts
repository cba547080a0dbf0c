// Connecting an app: its token, and a link that shows what to type on the phone, once, within ten minutes.
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { z } from "zod";
import type { Tx } from "../../db/statement.ts";
import { DomainError } from "../../errors.ts";
import { deleteExpiredLinks, deleteOldLinks, findLink, insertLink, openLink } from "../../store/connect-links.ts";
import { lastingFor } from "../../store/expiry.ts";
import { findToken } from "../../store/tokens.ts";
import { type Actor, requirePassword } from "../actor.ts";
import type { Context } from "../context.ts";
import { transact } from "../transact.ts";
import { createToken, hashSecret, isLive, keepToken } from "./tokens.ts";

/** Milliseconds. */
const LIFETIME = 10 * 60_000;
const goodAt = lastingFor(LIFETIME);
/** Links of a user; one more ends the one that was made first. */
const MOST_LINKS = 100;

/** What an app needs to connect. */
const Values = z.object({
  label: z.string(),
  kind: z.string(),
  server: z.string(),
  user: z.string(),
  token: z.string(),
});
export type ConnectValues = z.infer<typeof Values>;

/**
 * Issues a token for a new app. The same `nonce` for the same app gives the same token again for ten minutes.
 * @param nonce random text that belongs to the form
 * @returns what to type in the app, and the secret of a link that shows it
 * @throws DomainError "invalid" for a bad label, "forbidden" if the actor signed in with a token, "gone" if the token was
 * revoked in between, "not_found" if the user was deleted
 */
export async function connectApp(
  context: Context,
  actor: Actor,
  nonce: string,
  app: Omit<ConnectValues, "token">,
): Promise<{ values: ConnectValues; secret: string }> {
  requirePassword(actor);
  const { user_id } = actor;
  const secret = hashSecret(JSON.stringify([user_id, nonce, app.kind, app.label])).slice(0, 32);
  const { token, row } = createToken(context, user_id, { label: app.label, scope: "write", expires_at: null });
  const values = { ...app, token };
  const [link_hash, sealed_secret] = [hashSecret(secret), seal(secret, values)];
  const now = context.clock.now();
  return transact(context, actor, async ({ tx }) => {
    await deleteExpiredLinks(tx, goodAt(now));
    const [made] = await insertLink(tx, { user_id, link_hash, sealed_secret, expires_at: now + LIFETIME });
    if (made) {
      await keepToken(tx, row);
      await deleteOldLinks(tx, { user_id, kept: MOST_LINKS });
      return { values, secret };
    }
    const [known] = await findLink(tx, { link_hash, ...goodAt(now) });
    const again = await readValues(tx, secret, known, now);
    if (!again) throw new DomainError("gone", "The app's token was revoked");
    return { values: again, secret };
  });
}

/** Whether a link can still be opened. */
export async function isOpenLink({ database, clock }: Context, secret: string): Promise<boolean> {
  const now = clock.now();
  return database.read(async (tx) => {
    const [link] = await findLink(tx, { link_hash: hashSecret(secret), ...goodAt(now) });
    return link?.opened === 0 && (await readValues(tx, secret, link, now)) !== null;
  });
}

/** The values behind a link; works once. @returns null if it is unknown, over, or was opened, or its token was revoked */
export async function openConnectLink({ database, clock }: Context, secret: string): Promise<ConnectValues | null> {
  const now = clock.now();
  return database.write(async (tx) => {
    const [link] = await openLink(tx, { link_hash: hashSecret(secret), ...goodAt(now) });
    return readValues(tx, secret, link, now);
  });
}

/** The values of a link whose token still signs in; else null. */
async function readValues(
  tx: Tx,
  secret: string,
  link: { sealed_secret: string } | undefined,
  now: number,
): Promise<ConnectValues | null> {
  if (!link) return null;
  const values = unseal(secret, link.sealed_secret);
  const [token] = await findToken(tx, { hash: hashSecret(values.token) });
  return token && isLive(token, now) ? values : null;
}

// The table has the secret's hash only, so a backup shows no token.
const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;
const keyOf = (secret: string) => Bun.SHA256.hash(`podkeep values ${secret}`) as Uint8Array;

function seal(secret: string, values: ConnectValues): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(secret), iv);
  const text = [cipher.update(JSON.stringify(values)), cipher.final()];
  return Buffer.concat([iv, cipher.getAuthTag(), ...text]).toString("base64");
}

function unseal(secret: string, sealed: string): ConnectValues {
  const bytes = Buffer.from(sealed, "base64");
  const tag_end = IV_BYTES + TAG_BYTES;
  const decipher = createDecipheriv(CIPHER, keyOf(secret), bytes.subarray(0, IV_BYTES));
  decipher.setAuthTag(bytes.subarray(IV_BYTES, tag_end));
  const text = Buffer.concat([decipher.update(bytes.subarray(tag_end)), decipher.final()]).toString();
  return Values.parse(JSON.parse(text));
}
