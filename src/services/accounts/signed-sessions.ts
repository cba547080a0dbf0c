// The text of a session: what it says, signed with its user's key.
import { z } from "zod";
import { parseJson } from "../../json.ts";

/** Public id of the user, payload, HMAC-SHA256 of both with the user's session key. */
const SESSION = /^([a-z2-7]{6,16})\.([\w-]{1,2000})\.([\w-]{43})$/;

const Payload = z.object({
  audience: z.enum(["app", "page"]),
  /** The token's id; null for the password. */
  token_id: z.string().nullable(),
  /** What the app called itself; null with a token, which has a label. */
  app: z.string().nullable(),
  device: z.string().nullable(),
  /** Tells sessions apart that begin together; the page's row has it. Earlier versions gave apps none. */
  id: z.string().nullish(),
  expires_at: z.number(),
});

export type SessionPayload = z.infer<typeof Payload>;

/** A session whose text was taken apart. */
export interface SignedSession {
  /** Of the user. */
  public_id: string;
  /** Null if it is from another version. */
  payload: SessionPayload | null;
  /** What is signed, and the signature. */
  body: string;
  mac: string;
  hash: string;
  /** The user's key by which the signature was right; null before it was checked. */
  key: string | null;
}

/** Sessions that are remembered. */
const MOST_REMEMBERED = 2000;

/** Takes a text apart; null if it has not the form of a session. Nothing in it is true before isSigned() is. */
export function parseSession(text: string): SignedSession | null {
  const [, public_id = "", encoded = "", mac = ""] = SESSION.exec(text) ?? [];
  if (!public_id) return null;
  const payload = Payload.safeParse(parseJson(Buffer.from(encoded, "base64url").toString())).data ?? null;
  return { public_id, payload, body: `${public_id}.${encoded}`, mac, hash: Bun.SHA256.hash(text, "hex"), key: null };
}

/** Whether the user's key signed it. What was checked is remembered, as long as the key is the same. */
export function isSigned(
  sessions: Map<string, SignedSession>,
  text: string,
  session: SignedSession,
  key: string,
): boolean {
  if (session.key === key) return true;
  if (!isEqual(sign(session.body, key), session.mac)) return false;
  const [oldest] = sessions.size >= MOST_REMEMBERED ? sessions.keys() : [];
  if (oldest !== undefined) sessions.delete(oldest);
  sessions.set(text, { ...session, key });
  return true;
}

/** Writes a session as text. */
export function signSession(public_id: string, payload: SessionPayload, key: string): string {
  const body = `${public_id}.${Buffer.from(JSON.stringify(payload)).toString("base64url")}`;
  return `${body}.${sign(body, key)}`;
}

const sign = (body: string, key: string) =>
  new Bun.CryptoHasher("sha256", Buffer.from(key, "hex")).update(body).digest("base64url");

const isEqual = (a: string, b: string) =>
  a.length === b.length && crypto.timingSafeEqual(Buffer.from(a), Buffer.from(b));
