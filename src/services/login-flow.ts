// The login flow: an app opens a page in a browser, its user allows it there, and the app fetches a token.
import { networkOf } from "../domain/networks.ts";
import { DomainError } from "../errors.ts";
import {
  approveFlow,
  countLoginFlows,
  deleteExpiredFlows,
  deleteFlow,
  denyFlow,
  findApprovedFlow,
  findOpenFlow,
  insertLoginFlow,
} from "../store/login-flows.ts";
import { insertToken } from "../store/tokens.ts";
import { findUserById } from "../store/users.ts";
import { type Actor, requirePassword } from "./actor.ts";
import type { Context } from "./context.ts";
import { createDeviceOfToken } from "./devices.ts";
import { createToken } from "./tokens.ts";

/** Milliseconds that a user has to sign in and the app to fetch the token. */
const LIFETIME = 20 * 60_000;
/** Flows that may be open at a time. */
const MOST_OF_ADDRESS = 20;
const MOST = 10_000;
/** Characters of 5 bits. */
const SECRET_LENGTH = 52;

const hashOf = (secret: string) => Bun.SHA256.hash(secret, "hex");

const isSecret = (text: string) => /^[a-z2-7]{52}$/.test(text);

/**
 * Starts a flow, and returns the secrets in the page's URL and for the app to poll with.
 * @param label what the app calls itself, printable and up to 100 characters
 * @param address the app's IP address
 * @throws DomainError "too_many" if too many flows are open, at all or of this address (the /64 of an IPv6 address)
 */
export async function startLoginFlow(
  { database, clock, ids }: Context,
  { label, address: client }: { label: string; address: string },
): Promise<{ page: string; poll: string }> {
  const address = networkOf(client);
  const [page, poll] = [ids.random(SECRET_LENGTH), ids.random(SECRET_LENGTH)];
  const now = clock.now();
  await database.write(async (tx) => {
    await deleteExpiredFlows(tx, { now });
    const [open] = await countLoginFlows(tx, { address });
    if (open && (Number(open.of_address) >= MOST_OF_ADDRESS || Number(open.all) >= MOST)) {
      throw new DomainError("too_many", "Too many logins were started", { retry_after: LIFETIME / 1000 });
    }
    const hashes = { page_hash: hashOf(page), poll_hash: hashOf(poll) };
    await insertLoginFlow(tx, { ...hashes, label, address, expires_at: now + LIFETIME });
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
  const page_hash = hashOf(page);
  const [flow] = await database.read((tx) => findOpenFlow(tx, { page_hash, user_id, now: clock.now() }));
  if (!flow) throw unknown();
  return { label: flow.label, address: flow.address, approved: flow.user_id !== null };
}

/**
 * Lets the app that started a flow have a token of the actor's user. Can be repeated until the app has fetched it.
 * @throws DomainError "not_found" as findLoginFlow() does, "forbidden" if the actor signed in with a token
 */
export async function approveLoginFlow(context: Context, actor: Actor, page: string): Promise<void> {
  requirePassword(actor);
  const { database, clock } = context;
  const { user_id } = actor;
  const page_hash = hashOf(page);
  const [flow] = await database.write((tx) => approveFlow(tx, { page_hash, user_id, now: clock.now() }));
  if (!flow) await findLoginFlow(context, actor, page);
}

/** Ends a flow that nobody has approved: its app gets nothing. @throws as approveLoginFlow() does */
export async function denyLoginFlow({ database, clock }: Context, actor: Actor, page: string): Promise<void> {
  requirePassword(actor);
  const [flow] = await database.write((tx) => denyFlow(tx, { page_hash: hashOf(page), now: clock.now() }));
  if (!flow) throw unknown();
}

/**
 * Ends an approved flow: issues a token, and creates a device for it. Works once.
 * @returns null if it is not approved yet, unknown or over
 */
export async function claimLoginFlow(context: Context, poll: string): Promise<{ name: string; token: string } | null> {
  const { database, clock } = context;
  if (!isSecret(poll)) return null;
  const poll_hash = hashOf(poll);
  // Apps poll every second: a flow that is not approved costs no write transaction.
  const [flow] = await database.read((tx) => findApprovedFlow(tx, { poll_hash, now: clock.now() }));
  const { user_id, label } = flow ?? {};
  if (!user_id || label === undefined) return null;
  const { token, row } = createToken(context, user_id, { label, scope: "write", expires_at: null });
  return database.write(async (tx) => {
    if ((await deleteFlow(tx, { poll_hash })).length === 0) return null;
    const [user] = await findUserById(tx, { user_id });
    if (!user) return null;
    await insertToken(tx, row);
    const actor = { user_id, kind: "token", id: row.id, label, device: null, scope: "write" } as const;
    await createDeviceOfToken(tx, actor, row.created_at);
    return { name: user.name, token };
  }, user_id);
}
