// The GET of a stream: looks for what is new to a client, and moves its cursor.
import { timeForChanges } from "../../clock.ts";
import type { Tx } from "../../db/statement.ts";
import type { Millis, Seconds, SyncWindow } from "../../domain/sync-window.ts";
import { isRefusal } from "../../errors.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import { transactAsReader, type UserTx } from "../transact.ts";
import { ClientCursor, type Stream } from "./client-cursor.ts";
import type { Client } from "./clients.ts";

/** What a GET finds. */
interface Found {
  /** Whether there is anything to tell. */
  isNews: boolean;
  /** Whether `keep` has to run even if the client does not move. */
  mustKeep?: boolean;
  /** Saves more than where the client is. */
  keep?(user: UserTx): Promise<void>;
}

/** How a GET reads its stream. */
interface Reading<One extends Found> {
  stream: Stream;
  /** As sent; 0 for everything. */
  since: Seconds;
  /** True if the cursor must not move. */
  peek: boolean;
  /** Overlap in seconds for a client that can't be identified: it gets that much before `since` again. */
  margin: Seconds;
  /** Whether the response must reach the present if it has something to tell. */
  closesPresent: boolean;
  /** Whether a client that can't be saved is refused, instead of being sent everything as an unknown one. */
  refusesUnsaved: boolean;
  find(tx: Tx, cursor: ClientCursor, window: SyncWindow): Promise<One | null>;
}

/** What a GET has seen in its stream. */
interface Seen<One extends Found> {
  cursor: ClientCursor;
  found: One | null;
  isNews: boolean;
  /** From where the client is to the end of the second that its response is given. */
  window: SyncWindow;
  /** From where the response sends changes. */
  sent: SyncWindow;
}

/** Looks for what is new to a client. @param now the wall clock */
async function look<One extends Found>(
  tx: Tx,
  cursor: ClientCursor,
  now: Millis,
  { since, margin, closesPresent, find }: Reading<One>,
): Promise<Seen<One>> {
  const { clock } = cursor;
  const wall = timeForChanges(now);
  // Before the first change, the user's clock is 0.
  const end = clock || wall;
  const opened = cursor.sent(cursor.open(since, end, { margin, isNews: false, now }));
  // The user's clock says whether anything happened since the client's last GET.
  const found = since > 0 && clock <= opened.start ? null : await find(tx, cursor, opened);
  const isNews = found?.isNews ?? false;
  const present = isNews && closesPresent ? Math.max(clock, wall) : end;
  const window = cursor.open(since, present, { margin, isNews, now });
  return { cursor, found, isNews, window, sent: cursor.sent(window) };
}

/** Whether anything has to be saved of what a GET has seen. */
const isMove = ({ cursor, found, isNews, window }: Seen<Found>, now: Millis): boolean =>
  window.clock !== cursor.clock || cursor.moves(window, isNews, now) || found?.mustKeep === true;

/**
 * Reads what is new to a client in one stream. The next change gets a later second than the response.
 * @param client null if nothing identifies it
 */
export async function readStream<One extends Found>(
  context: Context,
  actor: Actor,
  client: Client | null,
  reading: Reading<One>,
): Promise<{ found: One | null; sent: SyncWindow }> {
  const { stream, since, peek, refusesUnsaved } = reading;
  const now = context.clock.now();
  const lookNow = async () => {
    const isUnchanged = context.database.watch?.(actor.user_id, stream === "feeds" ? "episodes" : undefined);
    const seen = await context.database.read(async (tx) => {
      const cursor = await ClientCursor.read(tx, actor.user_id, client, stream, since === 0);
      const takesOver = await cursor.takesOver(tx, actor.user_id);
      return { ...(await look(tx, cursor, now, reading)), takesOver };
    });
    return { ...seen, isUnchanged };
  };
  let seen = await lookNow();
  // If it could not be written, the app would lose what it is about to upload.
  const mustWrite = client?.habits.forgetsQueue === true && stream === "feeds";
  if (peek || !(mustWrite || isMove(seen, now))) return seen;
  const begin = (user: UserTx) => ClientCursor.begin(user, client, stream, since === 0, now);
  let hasAll = false;
  try {
    if (seen.takesOver) {
      // In a separate transaction: others don't wait while it looks for what is new then.
      await transactAsReader(context, actor, begin);
      seen = await lookNow();
    }
    return await transactAsReader(context, actor, async (user) => {
      const isSame = seen.isUnchanged?.() === true;
      const cursor = await begin(user);
      hasAll = cursor.clock === seen.cursor.clock;
      // Again, with the user locked: more may have come.
      const locked = isSame ? seen : await look(user.tx, cursor, now, reading);
      user.moveClock(locked.window.clock);
      await cursor.save(user, now, locked.window, mustWrite);
      await locked.found?.keep?.(user);
      return locked;
    });
  } catch (error) {
    if (!isRefusal(error, "unavailable") || mustWrite) throw error;
    // The client must not move on from where it may have been saved to be without all that changed until there.
    if (error.extras.in_doubt && !hasAll) throw error;
    const { last } = seen.cursor;
    if (client && !last && refusesUnsaved) throw error;
    // A full disk must not lock readers out: the client will ask for the same again.
    const given = client ? (last?.given ?? 0) : Math.max(0, since - 1);
    return { found: seen.found, sent: { ...seen.sent, given } };
  }
}
