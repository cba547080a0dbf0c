// The cursor of a client: how far it has read one stream.
import type { ClientTable, CursorTable } from "../../db/schema.ts";
import type { Tx } from "../../db/statement.ts";
import {
  keepsUpload,
  type Millis,
  openUnknown,
  openWindow,
  type Seconds,
  type SyncPosition,
  type SyncWindow,
  sentFrom,
} from "../../domain/sync-window.ts";
import { unlessRefused } from "../../errors.ts";
import { noteClientSeen } from "../../store/clients.ts";
import { findPosition, noteUpload, saveCursor } from "../../store/cursors.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import { deleted, transactAsReader, type UserTx } from "../transact.ts";
import { type Client, hasEarlier, introduceClient } from "./clients.ts";
import { noteSync } from "./devices.ts";

/** What a client syncs; it has a position in each. */
export type Stream = CursorTable["stream"];

/** Milliseconds after which a sync without news is noted too. */
const SEEN_INTERVAL = 60 * 60 * 1000;
/** Milliseconds after which a request is noted that writes anyway. A sync has several. */
const NOTE_INTERVAL = 60 * 1000;

type Row = Pick<ClientTable, "seen_at" | "began" | "from_nothing">;

/** Where a client is in one stream. Without a client, nothing is known and nothing saved. */
export class ClientCursor {
  private constructor(
    readonly client: Client | null,
    private readonly stream: Stream,
    private readonly row: Row | undefined,
    /** Null if the client has not read this stream yet. */
    readonly last: SyncPosition | null,
    /** The user's clock as it is stored. */
    readonly clock: Millis,
    /** Until when the client knew all changes because it read the whole list; 0 if it never did. */
    readonly listReadAt: Millis,
    /** Whether a client that is not known asks for everything. */
    private readonly asksFromNothing: boolean,
  ) {}

  /**
   * @param fromNothing whether the client asks for everything
   * @throws DomainError "unauthorized" if the user was deleted
   */
  static async read(
    tx: Tx,
    user_id: number,
    client: Client | null,
    stream: Stream,
    fromNothing = false,
  ): Promise<ClientCursor> {
    const [found] = await findPosition(tx, { user_id, client: client?.id ?? "", stream });
    if (!found) throw deleted();
    const row = found.id !== null ? found : undefined;
    const last = found.since !== null ? positionOf(found) : null;
    return new ClientCursor(client, stream, row, last, found.clock, found.list_read_at ?? 0, fromNothing);
  }

  /**
   * The same for a request that changes something: a client that is not known is inserted.
   * @param fromNothing whether the client asks for everything
   */
  static async begin(
    user: UserTx,
    client: Client | null,
    stream: Stream,
    fromNothing: boolean,
    now: Millis,
  ): Promise<ClientCursor> {
    const cursor = await ClientCursor.read(user.tx, user.user_id, client, stream);
    if (!client || cursor.row) return cursor;
    await introduceClient(user, client, fromNothing, now);
    if (client.device !== null) await noteSync(user.tx, user.actor, client.device, now);
    return ClientCursor.read(user.tx, user.user_id, client, stream);
  }

  /** Whether the client is known, or takes over. */
  async isOrWasKnown(tx: Tx, user_id: number): Promise<boolean> {
    return this.row !== undefined || this.takesOver(tx, user_id);
  }

  /** Whether the client is new, and takes over from one that was with another credential. */
  async takesOver(tx: Tx, user_id: number): Promise<boolean> {
    return !this.row && this.client !== null && (await hasEarlier(tx, user_id, this.client));
  }

  /** When the client was first seen, on the user's clock; the end of time if it is new. */
  get began(): Millis {
    return this.row?.began ?? Number.MAX_SAFE_INTEGER;
  }

  /** Whether the client began with nothing: all that it holds is known. */
  get fromNothing(): boolean {
    return this.row ? this.row.from_nothing === 1 : this.asksFromNothing;
  }

  /**
   * Opens the window of a GET.
   * @param margin what a client that nothing identifies is sent again of the time before `since`
   * @param isNews whether there is anything to send, as far as that is known
   * @param now the wall clock
   */
  open(
    since: Seconds,
    clock: Millis,
    { margin, isNews, now }: { margin: Seconds; isNews: boolean; now: Millis },
  ): SyncWindow {
    const { client, last } = this;
    if (!client) return openUnknown(since, margin, clock, isNews, now);
    const countsOn = this.stream === "episodes" && client.habits.asksSinceActions;
    const window = openWindow(last, since, clock, countsOn ? { ...client.habits, clock: "own" } : client.habits);
    // A second device with the same id and credential may have uploaded them.
    const uploaded = this.stream === "episodes" && client.habits.rereads && typeof last?.uploaded_at === "number";
    return { ...window, own: window.own || uploaded };
  }

  /** What the response to a GET sends, which may be more than the client is taken to lack. */
  sent(window: SyncWindow): SyncWindow {
    return this.client ? { ...window, start: sentFrom(window, this.client.habits) } : window;
  }

  /** Whether the client's last noted sync is that close to now. It may be later, if the wall clock was set back. */
  private seenWithin(interval: Millis, now: Millis): boolean {
    return this.row !== undefined && Math.abs(now - this.row.seen_at) < interval;
  }

  /** Whether a window leaves the client elsewhere. An idle client that counts its `since` on does not move. */
  moves({ since, start, given }: SyncWindow, isNews: boolean, now: Millis): boolean {
    if (!this.client) return false;
    const { last } = this;
    if (!last || !this.seenWithin(SEEN_INTERVAL, now)) return true;
    return (
      last.start !== start || last.given !== given || last.uploaded_at !== null || (isNews && last.since !== since)
    );
  }

  /**
   * Saves the client's position, and its device's last sync.
   * @param writes whether something must be written even if the client does not move
   */
  async save(user: UserTx, now: Millis, position: SyncPosition, writes: boolean): Promise<void> {
    const { client, last, stream } = this;
    if (!client) return;
    const key = { user_id: user.user_id, client: client.id, stream };
    await saveCursor(user.tx, { ...key, ...position, own: Number(position.own) });
    if (writes || !last || !this.seenWithin(NOTE_INTERVAL, now)) await noteSeen(user, client, now);
  }

  /**
   * Notes an upload: if the last sync was noted a while ago, or if the app's next `since` may be the time of the upload.
   * @param wrote whether it changed anything
   */
  async noteUpload(user: UserTx, now: Millis, wrote: boolean): Promise<void> {
    const { client, row, stream, last } = this;
    if (!client || !row) return;
    if (!this.seenWithin(wrote ? NOTE_INTERVAL : SEEN_INTERVAL, now)) await noteSeen(user, client, now);
    if (!last || !keepsUpload(last, client.habits, now)) return;
    await noteUpload(user.tx, { user_id: user.user_id, client: client.id, stream, uploaded_at: now });
  }
}

async function noteSeen({ tx, user_id, actor }: UserTx, { id, device }: Client, now: Millis): Promise<void> {
  await noteClientSeen(tx, { user_id, id, seen_at: now });
  if (device !== null) await noteSync(tx, actor, device, now);
}

/**
 * Keeps when a client read the whole list, if it is known or takes over: what it reports after that is news, and the
 * user's clock says that it is after that. A full disk must not lock it out.
 */
export async function noteListRead(context: Context, actor: Actor, client: Client, clock: Millis): Promise<void> {
  const { user_id } = actor;
  const key = { user_id, client: client.id, stream: "lists" } as const;
  const now = context.clock.now();
  const listed = { since: 0, start: clock, own: 0, given: 0, uploaded_at: null, ahead: null };
  const noting = transactAsReader(context, actor, async (user) => {
    const cursor = await ClientCursor.read(user.tx, user_id, client, key.stream);
    if (!(await cursor.isOrWasKnown(user.tx, user_id))) return;
    await ClientCursor.begin(user, client, key.stream, false, now);
    await saveCursor(user.tx, { ...key, ...listed });
    user.moveClock(clock + 1);
  });
  await unlessRefused(noting, "unavailable");
}

const positionOf = ({ since, start, own, given, uploaded_at, ahead }: Omit<SyncPosition, "own"> & { own: number }) => {
  return { since, start, own: own === 1, given, uploaded_at, ahead };
};
