// Clients: one app on one device with one credential, and where the last GETs of each ended.
import type { Tx } from "../db/statement.ts";
import type { SyncPosition } from "../domain/sync-window.ts";
import { deleteClientsByToken, deleteOldClients, findClient, listClientTokens, saveClient } from "../store/clients.ts";
import { listUserTokens } from "../store/tokens.ts";
import type { Actor } from "./actor.ts";
import type { Context } from "./context.ts";
import { noteSync } from "./devices.ts";
import { isLive } from "./tokens.ts";
import type { UserTx } from "./transact.ts";
import { streamUserIds } from "./users.ts";

/** What a client syncs; it has a position for each. */
export type Stream = "feeds" | "episodes";

/** How an app syncs, as far as the server must know. */
export interface SyncHabits {
  /** Whether the app takes its own changes for somebody else's. */
  quiet: boolean;
  /** Whether the app posts back what it was told, after a GET that may tell the opposite. */
  postsBack: boolean;
  /** Whether it does so once its user has accepted it, which takes until a later sync. */
  asksUser: boolean;
  /** Whether the app uploads the list that it had before when it asks for everything again. */
  uploadsAll: boolean;
}

export interface Client extends SyncHabits {
  /** Hash of the next three. */
  id: string;
  /** The token that it signs in with; null for the password. */
  token_id: string | null;
  device: string | null;
  /** What the app calls itself; null if it does not. */
  product: string | null;
}

/** Products, in lower case, that take their own changes for somebody else's; so does PinePods, which names none. */
const QUIET = ["gpodder", "mygpoclient", "pinepods"];
/** Products, in lower case, that queue the changes they were told of, and send them with a later sync as their user's. */
const POSTING_BACK = ["antennapod", "gpodder"];
/** Those of them that ask their user first. */
const ASKING = ["gpodder"];
/** Products, in lower case, with a full sync: "Force full synchronization", "Fetch all episode states". */
const UPLOADING_ALL = ["antennapod", "kasts"];
const MOST_CLIENTS = 100;
/** Milliseconds after which a sync without news is noted too. */
const SEEN_INTERVAL = 60 * 60 * 1000;

/**
 * Identifies the client of a request.
 * @param product what the app calls itself, without its version; without one it may use the ids of other devices
 */
export function identifyClient({ user_id, id: token_id, device: named }: Actor, product: string | null): Client {
  const device = product === null ? null : named;
  const id = Bun.SHA256.hash(JSON.stringify([user_id, token_id, device, product]), "base64url");
  const isOneOf = (products: string[]) => product !== null && products.includes(product.toLowerCase());
  const habits = {
    quiet: product === null || isOneOf(QUIET),
    postsBack: isOneOf(POSTING_BACK),
    asksUser: isOneOf(ASKING),
    uploadsAll: isOneOf(UPLOADING_ALL),
  };
  return { id, token_id, device, product, ...habits };
}

type Row = Awaited<ReturnType<typeof findClient>>[number];

export interface KnownClient {
  row: Row | undefined;
  /** Null if it has not read this stream yet. */
  last: SyncPosition | null;
}

export async function findKnownClient(
  tx: Tx,
  user_id: string,
  client: Client | null,
  stream: Stream,
): Promise<KnownClient> {
  const [row] = client ? await findClient(tx, { user_id, id: client.id }) : [];
  const [since, start, given] = row
    ? [row[`${stream}_since`], row[`${stream}_start`], row[`${stream}_given`]]
    : [null, null, null];
  return { row, last: since === null || start === null || given === null ? null : { since, start, given } };
}

/** Whether the client's last sync is to be noted, though it brings nothing new. */
export const isStale = ({ row }: KnownClient, now: number) => !row || Math.abs(now - row.seen_at) >= SEEN_INTERVAL;

/** Saves a client, its position in one stream if that is given, and its device's last sync. */
export async function savePosition(
  { tx, user_id, actor }: UserTx,
  { id, token_id, device, product }: Client,
  { row }: KnownClient,
  now: number,
  stream: Stream,
  position: SyncPosition | null,
): Promise<void> {
  const nothing = {
    feeds_since: null,
    feeds_start: null,
    feeds_given: null,
    episodes_since: null,
    episodes_start: null,
    episodes_given: null,
  };
  const moved = position && {
    [`${stream}_since`]: position.since,
    [`${stream}_start`]: position.start,
    [`${stream}_given`]: position.given,
  };
  await saveClient(tx, { ...nothing, ...row, ...moved, user_id, id, token_id, device, product, seen_at: now });
  if (!row) await deleteOldClients(tx, { user_id, kept: MOST_CLIENTS });
  if (device !== null) await noteSync(tx, actor, device, now);
}

/** Forgets the clients of tokens that expired or are gone. @returns how many */
export async function pruneClients(context: Context, { signal }: { signal?: AbortSignal } = {}): Promise<number> {
  const { database, clock } = context;
  let pruned = 0;
  for await (const user_id of streamUserIds(context, signal)) {
    const used = await database.read((tx) => listClientTokens(tx, { user_id }));
    if (used.length === 0) continue;
    const tokens = await database.read((tx) => listUserTokens(tx, { user_id }));
    const live = new Set(tokens.filter((token) => isLive(token, clock.now())).map(({ id }) => id));
    const over = used.flatMap(({ token_id }) => (token_id === null || live.has(token_id) ? [] : { token_id }));
    if (over.length === 0) continue;
    pruned += (await database.write((tx) => deleteClientsByToken(tx, { user_id }, over), user_id)).length;
  }
  return pruned;
}
