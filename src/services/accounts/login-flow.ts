// The login flow: an app opens a page in a browser, its user allows it there, and the app fetches a token.
import { base32, type Ids } from "../../clock.ts";
import { networkOf } from "../../domain/networks.ts";
import { DomainError } from "../../errors.ts";
import { lastingFor } from "../../store/expiry.ts";
import {
  approveFlow,
  claimFlow,
  countLoginFlows,
  deleteExpiredFlows,
  deleteOldestFlows,
  deleteOldestFlowsOf,
  denyFlow,
  findApprovedFlow,
  findOpenFlow,
  insertLoginFlow,
} from "../../store/login-flows.ts";
import { findTokenById } from "../../store/tokens.ts";
import { findUserById } from "../../store/users.ts";
import { type Actor, requirePassword } from "../actor.ts";
import type { Context } from "../context.ts";
import { transact } from "../transact.ts";
import { createToken, hashSecret, insertAppToken, readAppName } from "./tokens.ts";

/** Milliseconds that a user has to sign in and the app to fetch the token. */
const LIFETIME = 20 * 60_000;
const goodAt = lastingFor(LIFETIME);
/** Flows that are kept at a time: many, because behind a proxy that no setting names, all clients have one address. */
const MOST_OF_ADDRESS = 1000;
const MOST = 10_000;
/** Characters of 5 bits. */
const SECRET_LENGTH = 52;

/**
 * Starts a flow, and returns the secrets in the page's URL and for the app to poll with. If an address (the /64 of an
 * IPv6 address) has started too many, or all have, the oldest one that is not approved ends.
 * @param label what the app calls itself
 * @param address the app's IP address
 */
export async function startLoginFlow(
  { database, clock, ids }: Context,
  { label: named, address: client }: { label: string; address: string },
): Promise<{ page: string; poll: string }> {
  const address = networkOf(client);
  const label = readAppName(named);
  const [page, poll] = [ids.random(SECRET_LENGTH), ids.random(SECRET_LENGTH)];
  const now = clock.now();
  await database.write(async (tx) => {
    await deleteExpiredFlows(tx, goodAt(now));
    const [open] = await countLoginFlows(tx, { address });
    const excess = (open?.of_address ?? 0) - MOST_OF_ADDRESS + 1;
    if (excess > 0) await deleteOldestFlowsOf(tx, { address, excess });
    else if ((open?.all ?? 0) >= MOST) await deleteOldestFlows(tx, { excess: 1 });
    const hashes = { page_hash: hashSecret(page), poll_hash: hashSecret(poll) };
    const flow = { ...hashes, label, address, expires_at: now + LIFETIME };
    await insertLoginFlow(tx, { ...flow, user_id: null, token_id: null });
  });
  return { page, poll };
}

const unknown = () => new DomainError("not_found", "This login has expired, or was used");

/** An app that waits for its user. */
export interface WaitingApp {
  /** What it calls itself. */
  label: string;
  /** The IP address that it asks from; the /64 of an IPv6 address. */
  address: string;
  approved: boolean;
}

/** The app that started a flow. @throws DomainError "not_found" if it is unknown, over, or approved by another user */
export async function findLoginFlow(
  { database, clock }: Context,
  { user_id }: Actor,
  page: string,
): Promise<WaitingApp> {
  const page_hash = hashSecret(page);
  const [flow] = await database.read((tx) => findOpenFlow(tx, { page_hash, user_id, ...goodAt(clock.now()) }));
  if (!flow) throw unknown();
  return { label: flow.label, address: flow.address, approved: flow.user_id !== null };
}

/** What the app calls itself that started a flow, before anybody has signed in; null if the flow is unknown or over. */
export async function findWaitingApp({ database, clock }: Context, page: string): Promise<string | null> {
  const waiting = { page_hash: hashSecret(page), user_id: 0, ...goodAt(clock.now()) };
  const [flow] = await database.read((tx) => findOpenFlow(tx, waiting));
  return flow?.label ?? null;
}

/**
 * Lets the app that started a flow have a token of the actor's user. Repeated, it changes nothing.
 * @throws DomainError "not_found" as findLoginFlow() does, "forbidden" if the actor signed in with a token
 */
export async function approveLoginFlow(context: Context, actor: Actor, page: string): Promise<void> {
  requirePassword(actor);
  const asked = { page_hash: hashSecret(page), user_id: actor.user_id, ...goodAt(context.clock.now()) };
  const [flow] = await transact(context, actor, ({ tx }) => approveFlow(tx, asked));
  if (!flow) await findLoginFlow(context, actor, page);
}

/** Ends a flow that is not approved: its app gets no password. @throws as approveLoginFlow() does */
export async function denyLoginFlow({ database, clock }: Context, actor: Actor, page: string): Promise<void> {
  requirePassword(actor);
  const asked = { page_hash: hashSecret(page), ...goodAt(clock.now()) };
  const [flow] = await database.write((tx) => denyFlow(tx, asked), actor.user_id);
  if (!flow) throw unknown();
}

/**
 * Gives the app of an approved flow its token, and creates a device for it. A poll whose response was lost can be
 * repeated until the token is used or the flow is over: it gives the same token.
 * @returns null if it is not approved yet, unknown or over
 */
export async function claimLoginFlow(context: Context, poll: string): Promise<{ name: string; token: string } | null> {
  const { database, clock } = context;
  const poll_hash = hashSecret(poll);
  // Apps poll every second: a flow that is not approved costs no write transaction.
  const [flow] = await database.read((tx) => findApprovedFlow(tx, { poll_hash, ...goodAt(clock.now()) }));
  const { user_id, label } = flow ?? {};
  if (!user_id || label === undefined) return null;
  const { token, row } = createToken({ clock, ids: idsFrom(poll) }, user_id, {
    label,
    scope: "write",
    expires_at: null,
  });
  return database.write(async (tx) => {
    const [user] = await findUserById(tx, { user_id });
    if (!user) return null;
    if ((await claimFlow(tx, { poll_hash, token_id: row.id })).length > 0) {
      await insertAppToken(tx, row);
      return { name: user.name, token };
    }
    const [again] = await findApprovedFlow(tx, { poll_hash, ...goodAt(clock.now()) });
    const [given] = again ? await findTokenById(tx, { id: row.id }) : [];
    const isUnused = given?.last_used_at === null && given.revoked_at === null;
    return isUnused ? { name: user.name, token } : null;
  }, user_id);
}

/** Ids that follow from a secret, so that nothing has to be kept to give a token again. */
function idsFrom(secret: string): Ids {
  let count = 0;
  return {
    random(length) {
      const bytes = new Bun.CryptoHasher("sha256").update(`podkeep token ${count++} ${secret}`).digest();
      return base32(bytes).slice(0, length);
    },
  };
}
