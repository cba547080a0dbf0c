// Sessions: signed cookies, one for each sign-in. Those of the web page have a row in the database while they last,
// those of apps one after they were ended.
import type { Tx } from "../../db/statement.ts";
import { DomainError } from "../../errors.ts";
import { deleteUserLinks } from "../../store/connect-links.ts";
import {
  addEndedSessions,
  deleteEndedSessions,
  deleteOldEndedSessions,
  findBasis,
} from "../../store/ended-sessions.ts";
import { isGood, lastingFor } from "../../store/expiry.ts";
import { deleteUserFlows } from "../../store/login-flows.ts";
import {
  deleteExpiredPageSessions,
  deleteOldPageSessions,
  deletePageSession,
  deletePageSessions,
  findPageSession,
  insertPageSession,
  listPageSessions,
  seePageSession,
} from "../../store/page-sessions.ts";
import { deletePasswordLink } from "../../store/password-links.ts";
import { deleteSessionKey, findUserById, keepSessionKey, lockUser } from "../../store/users.ts";
import { type Actor, actAsUser, requirePassword } from "../actor.ts";
import type { Context } from "../context.ts";
import { deleted, transact, transactAsReader } from "../transact.ts";
import { type SignedIn, signedInAs } from "./sign-in.ts";
import { isSigned, parseSession, type SessionPayload, signSession } from "./signed-sessions.ts";
import { actorOf } from "./tokens.ts";
import { noteUse } from "./uses.ts";

/** Who a session is for: an app, or the web page. One is not good for the other. */
export type Audience = "app" | "page";

const DAY = 24 * 60 * 60 * 1000;
/** Milliseconds after which a session ends; the page's is in a browser, which others may use. */
const LIFETIMES: Record<Audience, number> = { app: 365 * DAY, page: 30 * DAY };
const goodAt = { app: lastingFor(LIFETIMES.app), page: lastingFor(LIFETIMES.page) };

const KEY_BYTES = 32;
/** Characters of 5 bits. */
const ID_LENGTH = 16;
/** Sessions of the page that a user can have; one more ends the one that was not seen for longest. */
const MOST_ON_PAGE = 100;
/** Ended sessions of apps that are kept: an app that signs in and out at every sync must not fill the disk. */
const MOST_ENDED = 1000;
/** Milliseconds between two records of a page session's use. */
const SEEN_INTERVAL = 60 * 60 * 1000;

export interface Session extends SignedIn {
  /** SHA-256 of its text, in hex. */
  hash: string;
  /** The page's row has it; null for one that an earlier version gave an app. */
  id: string | null;
  /** Wall time in Unix milliseconds. */
  expires_at: number;
}

/**
 * Begins a session, on the device that the actor has.
 * @param browser what signs in to the page, for people
 * @param check reads the credential again. What ended it ended the sessions until then, and this one may be later
 * @returns its text, and how many milliseconds it lasts
 */
export async function createSession(
  context: Context,
  { user_id, kind, id, label, device }: Actor,
  audience: Audience,
  { browser = "", check }: { browser?: string; check?: (() => Promise<unknown>) | undefined } = {},
): Promise<{ text: string; lifetime: number }> {
  const { public_id, key } = await requireKey(context, user_id);
  const now = context.clock.now();
  const lifetime = LIFETIMES[audience];
  const expires_at = now + lifetime;
  const app = kind === "session" ? label : null;
  const session_id = context.ids.random(ID_LENGTH);
  if (audience === "page") {
    const row = { user_id, id: session_id, token_id: id, browser, created_at: now, seen_at: now, expires_at };
    await context.database.write(async (tx) => {
      if ((await lockUser(tx, { user_id })).length === 0) throw deleted();
      await deleteExpiredPageSessions(tx, { user_id, now });
      await deleteOldPageSessions(tx, { user_id, kept: MOST_ON_PAGE - 1 });
      await insertPageSession(tx, row);
    }, user_id);
  }
  await check?.();
  const payload: SessionPayload = { audience, token_id: id, app, device, id: session_id, expires_at };
  return { text: signSession(public_id, payload, key), lifetime };
}

/**
 * Reads a session; the user's key, the page's row, and the token if it signed in with one, are looked up each time.
 * @throws DomainError "unauthorized" if it is forged or over, for another audience, or from another version
 */
export async function readSession(context: Context, text: string, audience: Audience): Promise<Session> {
  const session = context.sessions.get(text) ?? parseSession(text);
  if (!session) throw unknown();
  const { public_id, payload, hash } = session;
  const asked = { public_id, session_hash: hash, token_id: payload?.token_id ?? "" };
  const [found] = await context.database.read((tx) => findBasis(tx, asked));
  if (!found?.session_key || !isSigned(context.sessions, text, session, found.session_key)) throw unknown();
  if (!payload) throw new DomainError("unauthorized", "The session is from another version");
  const { token_id, app, device, expires_at, id = null } = payload;
  const { user_id } = found;
  if (!isGood(expires_at, goodAt[audience](context.clock.now())))
    throw new DomainError("unauthorized", "The session has expired");
  if (payload.audience !== audience) throw new DomainError("unauthorized", "The session is not for this");
  if (audience === "page") await seeOnPage(context, user_id, id ?? "");
  else if (found.ended !== null) throw ended();
  const actor: Actor =
    token_id === null
      ? actAsUser(user_id, app, device)
      : actorOf(context, found.id === null ? undefined : found, device);
  const signedIn = signedInAs(audience === "page" ? { ...actor, kind: "page" } : actor, found);
  return { ...signedIn, hash, id, expires_at };
}

const unknown = () => new DomainError("unauthorized", "The session is unknown");
const ended = () => new DomainError("unauthorized", "The session was ended");

/** @throws DomainError "unauthorized" if the session was ended */
async function seeOnPage(context: Context, user_id: number, id: string): Promise<void> {
  const { database, clock } = context;
  const [row] = await database.read((tx) => findPageSession(tx, { user_id, id }));
  if (!row) throw ended();
  const seen_at = clock.now();
  if (Math.abs(seen_at - row.seen_at) < SEEN_INTERVAL) return;
  noteUse(context, id, () => database.write((tx) => seePageSession(tx, { user_id, id, seen_at }), user_id, "uses"));
}

/** A sign-in to the web page; times are Unix milliseconds. */
export interface PageSession {
  id: string;
  /** The token that signed in; null for the password. */
  token_id: string | null;
  /** Such as "Firefox on Android"; empty if it is unknown. */
  browser: string;
  created_at: number;
  /** To the hour. */
  seen_at: number;
}

/** Lists the page's sessions of the actor's user, the last seen first; those of revoked tokens too. */
export function listSessions({ database, clock }: Context, { user_id }: Actor): Promise<PageSession[]> {
  return database.read((tx) => listPageSessions(tx, { user_id, ...goodAt.page(clock.now()) }));
}

/** Ends one of the page's sessions of the actor's user. Ending one that has ended does nothing. */
export async function endPageSession({ database }: Context, { user_id }: Actor, id: string): Promise<void> {
  await database.write((tx) => deletePageSession(tx, { user_id, id }), user_id);
}

export async function endAppSession(context: Context, { actor, hash, expires_at }: Session): Promise<void> {
  await transactAsReader(context, actor, async ({ tx, user_id }) => {
    await addEndedSessions(tx, { user_id }, [{ session_hash: hash, expires_at }]);
    await deleteOldEndedSessions(tx, { user_id, kept: MOST_ENDED });
  });
}

/**
 * Ends all sessions of the actor's user, and what a session has prepared: apps that were allowed and have not fetched
 * their token, links that show one, and a link to choose a password.
 * @throws DomainError "forbidden" if the actor signed in with a token
 */
export async function signOutEverywhere(context: Context, actor: Actor): Promise<void> {
  requirePassword(actor);
  await transact(context, actor, async ({ tx, user_id }) => {
    await deleteSessionKey(tx, { user_id });
    await deleteSignIns(tx, user_id);
  });
}

/** Deletes what belongs to sessions, whose key the same transaction deletes. */
export async function deleteSignIns(tx: Tx, user_id: number): Promise<void> {
  await deletePageSessions(tx, { user_id });
  await deleteEndedSessions(tx, { user_id });
  await deleteUserFlows(tx, { user_id });
  await deleteUserLinks(tx, { user_id });
  await deletePasswordLink(tx, { user_id });
}

/** The user's public id and session key; the first session makes one. */
async function requireKey({ database }: Context, user_id: number): Promise<{ public_id: string; key: string }> {
  const [user] = await database.read((tx) => findUserById(tx, { user_id }));
  if (!user) throw deleted();
  const { public_id } = user;
  if (user.session_key) return { public_id, key: user.session_key };
  const session_key = Buffer.from(crypto.getRandomValues(new Uint8Array(KEY_BYTES))).toString("hex");
  const [kept] = await database.write((tx) => keepSessionKey(tx, { user_id, session_key }), user_id);
  if (!kept?.session_key) throw deleted();
  return { public_id, key: kept.session_key };
}
