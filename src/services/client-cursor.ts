// The cursor of a client: where it is in one stream, and the frame of each GET of that stream.
import type { Tx } from "../db/statement.ts";
import {
  type Millis,
  openUnknown,
  openWindow,
  type Seconds,
  type SyncPosition,
  type SyncWindow,
} from "../domain/sync-window.ts";
import { DomainError } from "../errors.ts";
import { deleteOldClients, findClient, saveClient } from "../store/clients.ts";
import { readClock } from "../store/users.ts";
import type { Actor } from "./actor.ts";
import type { Client } from "./clients.ts";
import type { Context } from "./context.ts";
import { noteSync } from "./devices.ts";
import { transactAsReader, type UserTx } from "./transact.ts";

/** What a client syncs; it has a position in each. */
type Stream = "feeds" | "episodes";

const MOST_CLIENTS = 100;
/** Milliseconds after which a sync without news is noted too. */
const SEEN_INTERVAL = 60 * 60 * 1000;
/** Milliseconds after which an upload is noted that writes anyway. */
const UPLOAD_INTERVAL = 60 * 1000;

type Row = Awaited<ReturnType<typeof findClient>>[number];

/** Where a client is in one stream. Without a client, nothing is known and nothing saved. */
export class ClientCursor {
  private constructor(
    readonly client: Client | null,
    private readonly stream: Stream,
    private readonly row: Row | undefined,
    /** Null if the client has not read this stream yet. */
    readonly last: SyncPosition | null,
  ) {}

  static async read(tx: Tx, user_id: string, client: Client | null, stream: Stream): Promise<ClientCursor> {
    const [row] = client ? await findClient(tx, { user_id, id: client.id }) : [];
    return new ClientCursor(client, stream, row, row ? positionIn(row, stream) : null);
  }

  /** Notes an upload: of a new client, or if the last sync was noted a while ago. @param wrote whether it changed anything */
  async noteUpload(user: UserTx, now: Millis, wrote: boolean): Promise<void> {
    const interval = wrote ? UPLOAD_INTERVAL : SEEN_INTERVAL;
    if (!this.row || Math.abs(now - this.row.seen_at) >= interval) await this.save(user, now, null);
  }

  /**
   * Opens the window of a GET.
   * @param margin what a client that nothing identifies is told again of the time before `since`
   * @param found whether there is anything to tell, as far as that is known
   */
  open(since: Seconds, clock: Millis, { margin, found }: { margin: Seconds; found: boolean }): SyncWindow {
    return this.client ? openWindow(this.last, since, clock) : openUnknown(since, margin, clock, found);
  }

  /** Whether a window leaves the client elsewhere. An idle client that counts its `since` on does not move. */
  moves({ since, start, given }: SyncWindow, found: boolean, now: Millis): boolean {
    if (!this.client) return false;
    const { row, last } = this;
    if (!row || !last || Math.abs(now - row.seen_at) >= SEEN_INTERVAL) return true;
    return last.start !== start || last.given !== given || (found && last.since !== since);
  }

  /** Saves the client with a position, or the one that it had, and its device's last sync. */
  async save({ tx, user_id, actor }: UserTx, now: Millis, position: SyncPosition | null): Promise<void> {
    if (!this.client) return;
    const { id, token_id, device, product } = this.client;
    const nothing = {
      feeds_since: null,
      feeds_start: null,
      feeds_given: null,
      episodes_since: null,
      episodes_start: null,
      episodes_given: null,
    };
    const moved = position && {
      [`${this.stream}_since`]: position.since,
      [`${this.stream}_start`]: position.start,
      [`${this.stream}_given`]: position.given,
    };
    await saveClient(tx, { ...nothing, ...this.row, ...moved, user_id, id, token_id, device, product, seen_at: now });
    if (!this.row) await deleteOldClients(tx, { user_id, kept: MOST_CLIENTS });
    if (device !== null) await noteSync(tx, actor, device, now);
  }
}

function positionIn(row: Row, stream: Stream): SyncPosition | null {
  const [since, start, given] = [row[`${stream}_since`], row[`${stream}_start`], row[`${stream}_given`]];
  if (since === null || start === null || given === null) return null;
  return { since, start, own: start % 1000 === 0, given };
}

/** How a GET reads its stream. */
interface Reading<Found> {
  stream: Stream;
  /** As sent; 0 for everything. */
  since: Seconds;
  /** True to leave the client where it is. */
  peek: boolean;
  /** What a client that nothing identifies is told again of the time before `since`. */
  margin: Seconds;
  /** Whether the response must reach the present if it has something to tell. */
  closesPresent: boolean;
  /** Whether a client that can't be saved is refused, instead of being told everything as an unknown one. */
  mustKeep: boolean;
  find(tx: Tx, cursor: ClientCursor, window: SyncWindow): Promise<Found>;
  /** Whether there is anything to tell. */
  isNews(found: Found): boolean;
  /** Whether there is more to save than where the client is. */
  hasMore(found: Found): boolean;
  /** Saves that. */
  keep(user: UserTx, found: Found): Promise<void>;
}

interface Read<Found> {
  cursor: ClientCursor;
  found: Found;
  window: SyncWindow;
}

/**
 * Reads what is news to a client in one stream, and closes the second of the response: no later change falls into it.
 * @param client null if nothing identifies it
 */
export async function readStream<Found>(
  context: Context,
  actor: Actor,
  client: Client | null,
  reading: Reading<Found>,
): Promise<{ found: Found; window: SyncWindow }> {
  const { user_id } = actor;
  const { stream, since, margin, closesPresent } = reading;
  const now = context.clock.now();
  const open = async (tx: Tx, clock: Millis): Promise<Read<Found>> => {
    const cursor = await ClientCursor.read(tx, user_id, client, stream);
    const found = await reading.find(tx, cursor, cursor.open(since, clock || now, { margin, found: false }));
    const isNews = reading.isNews(found);
    const present = isNews && closesPresent ? Math.max(clock, now) : clock || now;
    return { cursor, found, window: cursor.open(since, present, { margin, found: isNews }) };
  };
  const [clock, seen] = await context.database.read(async (tx) => {
    const [row] = await readClock(tx, { user_id });
    return [row?.clock ?? 0, await open(tx, row?.clock ?? 0)];
  });
  const { cursor, found, window } = seen;
  const moves = window.clock !== clock || cursor.moves(window, reading.isNews(found), now) || reading.hasMore(found);
  if (reading.peek || !moves) return seen;
  try {
    return await transactAsReader(context, actor, async (user) => {
      const read = await open(user.tx, user.clock());
      user.moveClock(read.window.clock);
      await read.cursor.save(user, now, read.window);
      await reading.keep(user, read.found);
      return read;
    });
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== "unavailable") throw error;
    if (client && !cursor.last && reading.mustKeep) throw error;
    // A full disk must not lock readers out: the client will ask for the same again.
    const given = client ? (cursor.last?.given ?? 0) : Math.max(0, since - 1);
    return { found, window: { ...window, given } };
  }
}
