// Clients: one app on one device with one credential.
import type { Tx } from "../../db/statement.ts";
import type { Habits } from "../../domain/habits.ts";
import {
  deleteClients,
  insertClient,
  listClientsOn,
  listOldClients,
  listUnseenClients,
  takeDevices,
} from "../../store/clients.ts";
import { copyHoldings, deleteHoldingsUpTo, findEndOfPart, listHoldingsAfter } from "../../store/holdings.ts";
import { listUserTokens } from "../../store/tokens.ts";
import { lockUser } from "../../store/users.ts";
import { isLive } from "../accounts/tokens.ts";
import { streamUserIds } from "../accounts/users.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import type { UserTx } from "../transact.ts";

/** An app, as the protocols know it. */
export interface SyncApp {
  /** What it calls itself, without its version; null if it does not. */
  product: string | null;
  habits: Habits;
}

export interface Client extends SyncApp {
  /** Hash of token, device and product. */
  id: string;
  /** The token that it signs in with; null for the password. */
  token_id: string | null;
  device: string | null;
}

const MOST_CLIENTS = 100;
/** Characters of 6 bits. */
const ID_LENGTH = 22;
/** Milliseconds that a client is kept after its token ended, for one that takes over. */
const KEPT = 90 * 24 * 60 * 60 * 1000;

/** Identifies the client of a request. Apps without a product may use the ids of other devices. */
export function identifyClient({ id: token_id, device: named, scope }: Actor, { product, habits }: SyncApp): Client {
  // A token that may only read is one client for all device ids, and has no device: it must not replace others.
  const isReader = scope === "read";
  const device = product === null || isReader ? null : named;
  const text = JSON.stringify([token_id, device, isReader ? null : product]);
  const id = Bun.SHA256.hash(text, "base64url").slice(0, ID_LENGTH);
  return { id, token_id, device, product, habits };
}

/**
 * Inserts a new client, and lets it take over what the same app on the same device held with another credential: with one
 * that ended, or that it continues, because it doesn't start from nothing.
 * @param fromNothing whether the client asks for everything
 * @param now wall time in Unix milliseconds
 */
export async function introduceClient(
  user: UserTx,
  { id, token_id, device, product }: Client,
  fromNothing: boolean,
  now: number,
): Promise<void> {
  const { tx, user_id } = user;
  const earlier = await listEarlier(tx, user_id, { device, product });
  const ended = await findEnded(tx, user_id, earlier, now);
  const from = ended[0] ?? (fromNothing ? undefined : earlier[0]);
  // What it received since it began with the earlier credential counts too.
  const { began, from_nothing } = from ?? { began: user.clock(), from_nothing: Number(fromNothing) };
  await insertClient(tx, { user_id, id, token_id, device, product, seen_at: now, began, from_nothing });
  if (from) await copyHoldings(tx, { user_id, from: from.id, to: id });
  const old = await listOldClients(tx, { user_id, id, kept: MOST_CLIENTS - 1 });
  for (const one of [...ended, ...old]) {
    while ((await deletePart(tx, user_id, one)) === null);
  }
}

/** Deletes a part of what a client holds, or the client with the last part. @returns how many clients; null if more is left */
async function deletePart(tx: Tx, user_id: number, { id }: Pick<Client, "id">): Promise<number | null> {
  const of = { user_id, client: id };
  const [end] = await findEndOfPart(tx, { ...of, after: "" });
  if (!end) return (await deleteClients(tx, { user_id }, [{ id }])).length;
  await deleteHoldingsUpTo(tx, { ...of, last: end.feed });
  return null;
}

/** Clients of the same app on the same device, the one that synced last first; none if nothing names both. */
async function listEarlier(tx: Tx, user_id: number, { device, product }: Pick<Client, "device" | "product">) {
  return device === null || product === null ? [] : listClientsOn(tx, { user_id, device, product });
}

/** Whether a client that is not known yet would take over from an earlier one. */
export const hasEarlier = async (tx: Tx, user_id: number, client: Client): Promise<boolean> =>
  (await listEarlier(tx, user_id, client)).length > 0;

/** How many feeds a client holds, or would take over from an earlier one, up to `most`. */
export async function countHeld(tx: Tx, user_id: number, client: Client, most: number): Promise<number> {
  let count = 0;
  for (const { id } of [client, ...(await listEarlier(tx, user_id, client))]) {
    const held = await listHoldingsAfter(tx, { user_id, client: id, after: "", limit: most });
    count = Math.max(count, held.length);
  }
  return count;
}

/** Those of a user's clients whose tokens ended or are gone. @param now wall time in Unix milliseconds */
async function findEnded<One extends Pick<Client, "token_id">>(tx: Tx, user_id: number, clients: One[], now: number) {
  const tokens = clients.length > 0 ? await listUserTokens(tx, { user_id }) : [];
  const live = new Set(tokens.filter((token) => isLive(token, now)).map(({ id }) => id));
  return clients.filter(({ token_id }) => token_id !== null && !live.has(token_id));
}

/** Forgets the clients whose tokens ended or are gone, three months after they were last seen. @returns how many */
export async function pruneClients(context: Context, signal?: AbortSignal): Promise<number> {
  const { database, clock } = context;
  const now = clock.now();
  let pruned = 0;
  for await (const user_id of streamUserIds(context, signal)) {
    const over = await database.read(async (tx) => {
      const unseen = await listUnseenClients(tx, { user_id, before: now - KEPT });
      return findEnded(tx, user_id, unseen, now);
    });
    if (over.length === 0) continue;
    const write = <T>(work: (tx: Tx) => Promise<T>) =>
      database.write(async (tx) => {
        // Syncs that began before end first.
        await lockUser(tx, { user_id });
        return work(tx);
      }, user_id);
    // Who takes over gets all that a client holds, or nothing.
    await write((tx) => takeDevices(tx, { user_id }, over));
    for (const client of over) {
      let deleted: number | null = null;
      while (deleted === null && !signal?.aborted) deleted = await write((tx) => deletePart(tx, user_id, client));
      pruned += deleted ?? 0;
    }
  }
  return pruned;
}
