// Sessions: signed cookies, one for each sign-in, without a row in the database.
import { timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { DomainError } from "../errors.ts";
import { deleteSessionKey, findUserById, keepSessionKey } from "../store/users.ts";
import { type Actor, requirePassword } from "./actor.ts";
import type { Context } from "./context.ts";
import type { SignedIn } from "./sign-in.ts";
import { authenticateById } from "./tokens.ts";

/** Who a session is for: an app, or the web page. One is not good for the other. */
export type Audience = "app" | "page";

const DAY = 24 * 60 * 60 * 1000;
/** Milliseconds after which a session ends; the page's is in a browser, which others may use. */
const LIFETIMES: Record<Audience, number> = { app: 365 * DAY, page: 30 * DAY };

/** User id, payload, HMAC-SHA256 of both with the user's session key. */
const SESSION = /^([a-z2-7]{16})\.([\w-]{1,2000})\.([\w-]{43})$/;
const KEY_BYTES = 32;

const Payload = z.object({
  audience: z.enum(["app", "page"]),
  /** The token's id; null for the password. */
  token_id: z.string().nullable(),
  /** What the app called itself; null with a token, which has a label. */
  app: z.string().nullable(),
  device: z.string().nullable(),
  expires_at: z.number(),
});

export interface Session extends SignedIn {
  /** Wall time in Unix milliseconds. */
  expires_at: number;
}

/** Begins a session, on the device that the actor has. @returns its text and when it ends */
export async function createSession(
  context: Context,
  { user_id, kind, id, label, device }: Actor,
  audience: Audience,
): Promise<{ text: string; expires_at: number }> {
  const key = await requireKey(context, user_id);
  const expires_at = context.clock.now() + LIFETIMES[audience];
  const app = kind === "session" ? label : null;
  const payload: z.infer<typeof Payload> = { audience, token_id: id, app, device, expires_at };
  const body = `${user_id}.${Buffer.from(JSON.stringify(payload)).toString("base64url")}`;
  return { text: `${body}.${sign(body, key)}`, expires_at };
}

/**
 * Reads a session; the user's key, and the token if it signed in with one, are looked up each time.
 * @throws DomainError "unauthorized" if it is forged or over, or for another audience
 */
export async function readSession(context: Context, text: string, audience: Audience): Promise<Session> {
  const [, user_id = "", body = "", mac = ""] = SESSION.exec(text) ?? [];
  const [user] = user_id ? await context.database.read((tx) => findUserById(tx, { user_id })) : [];
  if (!user?.session_key || !isEqual(sign(`${user_id}.${body}`, user.session_key), mac)) {
    throw new DomainError("unauthorized", "The session is unknown");
  }
  const payload = Payload.parse(JSON.parse(Buffer.from(body, "base64url").toString()));
  const { token_id, app, device, expires_at } = payload;
  if (expires_at <= context.clock.now()) throw new DomainError("unauthorized", "The session has expired");
  if (payload.audience !== audience) throw new DomainError("unauthorized", "The session is not for this");
  const { name } = user;
  if (token_id !== null) return { actor: { ...(await authenticateById(context, token_id)), device }, name, expires_at };
  return { actor: { user_id, kind: "session", id: null, label: app, device, scope: "write" }, name, expires_at };
}

/** Ends all sessions of the actor's user. @throws DomainError "forbidden" if the actor signed in with a token */
export async function signOutEverywhere({ database }: Context, actor: Actor): Promise<void> {
  requirePassword(actor);
  const { user_id } = actor;
  await database.write((tx) => deleteSessionKey(tx, { user_id }), user_id);
}

/** The user's session key; the first session makes one. */
async function requireKey({ database }: Context, user_id: string): Promise<string> {
  const [user] = await database.read((tx) => findUserById(tx, { user_id }));
  if (user?.session_key) return user.session_key;
  const session_key = Buffer.from(crypto.getRandomValues(new Uint8Array(KEY_BYTES))).toString("hex");
  const [kept] = await database.write((tx) => keepSessionKey(tx, { user_id, session_key }), user_id);
  if (!kept?.session_key) throw new DomainError("unauthorized", "The user was deleted");
  return kept.session_key;
}

const sign = (body: string, key: string) =>
  new Bun.CryptoHasher("sha256", Buffer.from(key, "hex")).update(body).digest("base64url");

const isEqual = (a: string, b: string) => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
