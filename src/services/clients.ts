// Clients: one app on one device with one credential.
import { deleteClientsByToken, listClientTokens } from "../store/clients.ts";
import { listUserTokens } from "../store/tokens.ts";
import { lockUser } from "../store/users.ts";
import type { Actor } from "./actor.ts";
import type { Context } from "./context.ts";
import { isLive } from "./tokens.ts";
import { streamUserIds } from "./users.ts";

/** How an app syncs, as far as the server must know. */
export interface SyncHabits {
  /** Whether the app takes its own changes for somebody else's. */
  mistakesOwn: boolean;
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
const MISTAKING_OWN = ["gpodder", "mygpoclient", "pinepods"];
/** Products, in lower case, that queue the changes they were told of, and send them with a later sync as their user's. */
const POSTING_BACK = ["antennapod", "gpodder"];
/** Those of them that ask their user first. */
const ASKING = ["gpodder"];
/** Products, in lower case, with a full sync: "Force full synchronization", "Fetch all episode states". */
const UPLOADING_ALL = ["antennapod", "kasts"];

/**
 * Identifies the client of a request.
 * @param product what the app calls itself, without its version; without one it may use the ids of other devices
 */
export function identifyClient({ user_id, id: token_id, device: named, scope }: Actor, product: string | null): Client {
  // A token that may only read is one client, whatever it names, and has no device: it must not displace others.
  const isReader = scope === "read";
  const device = product === null || isReader ? null : named;
  const id = Bun.SHA256.hash(JSON.stringify([user_id, token_id, device, isReader ? null : product]), "base64url");
  const isOneOf = (products: string[]) => product !== null && products.includes(product.toLowerCase());
  const habits = {
    mistakesOwn: product === null || isOneOf(MISTAKING_OWN),
    postsBack: isOneOf(POSTING_BACK),
    asksUser: isOneOf(ASKING),
    uploadsAll: isOneOf(UPLOADING_ALL),
  };
  return { id, token_id, device, product, ...habits };
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
    const deleted = await database.write(async (tx) => {
      // Syncs that began before end first.
      await lockUser(tx, { user_id });
      return deleteClientsByToken(tx, { user_id }, over);
    }, user_id);
    pruned += deleted.length;
  }
  return pruned;
}
