// The worker that moves episodes in parts, because one change left many.
import { isRefusal, messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import { anyMoves, deleteMoves, listMoves, listWaiting } from "../store/episode-moves.ts";
import { listPodcastsBetween } from "../store/episodes.ts";
import { columnOf } from "../store/rows.ts";
import { nextTurn } from "../turns.ts";
import { type Actor, actAsWorker } from "./actor.ts";
import { BackgroundWorker } from "./background-worker.ts";
import type { Context } from "./context.ts";
import { haveWaiting, moveEpisodes } from "./episode-moves.ts";
import { transact, type UserTx } from "./transact.ts";

/** Users of whom a part is moved in turn, each in its own step: a stop waits for one. */
const USERS = 64;
/** Episodes that are looked at for those of one transaction. */
const LOOKED_AT = 2048;

/** How far the moves of a change have come. It is not stored: from the beginning, they find nothing left to do. */
interface Place {
  batch: number;
  /** Whether it is at episodes with a guid. Those without come after all of them (takingOrder). */
  named: boolean;
  /** The last episode that was looked at. */
  episode: number;
}

/** Moves episodes, a part of each user at a time. Errors are logged, and the moves are tried again. */
export function createEpisodeMover(context: Context, log: Logger): BackgroundWorker {
  const { database, config } = context;
  const places = new Map<number, Place>();
  /** Users whose moves failed: they are tried again once the others have none left, after a pause. */
  const failed = new Set<number>();
  /** The user of whom a part was moved last. */
  let last = 0;

  async function step(): Promise<boolean> {
    const waiting = await database.read((tx) => listWaiting(tx, { limit: USERS }));
    for (const user_id of places.keys()) if (!waiting.some((one) => one.user_id === user_id)) places.delete(user_id);
    const ready = waiting.filter(({ user_id }) => !failed.has(user_id));
    const one = ready.find(({ user_id }) => user_id > last) ?? ready[0];
    if (!one) {
      failed.clear();
      return false;
    }
    const { user_id } = one;
    last = user_id;
    await nextTurn();
    try {
      places.set(user_id, await movePart(context, one, places.get(user_id)));
    } catch (error) {
      failed.add(user_id);
      log.error({ user_id, reason: messageOf(error) }, "episodes can't be moved");
    }
    return true;
  }

  return new BackgroundWorker({
    step,
    pause: async () => config.deletion_poll,
    failed: (error) => {
      log.error({ reason: messageOf(error) }, "moves of episodes are delayed");
      return config.deletion_poll;
    },
  });
}

/**
 * As transact(), once no episodes of the user wait to be moved: what apps say of one counts as if the change before had
 * moved all. Until then, this moves them itself.
 */
export async function transactAfterMoves<T>(
  context: Context,
  actor: Actor,
  work: (user: UserTx) => Promise<T>,
): Promise<T> {
  const { user_id } = actor;
  for (;;) {
    const done = await transact(context, actor, async (user) =>
      (await haveWaiting(user)) ? null : { result: await work(user) },
    );
    if (done) return done.result;
    try {
      await moveAll(context, user_id);
    } catch (error) {
      if (isRefusal(error, "unavailable")) throw error;
      // A defect in moves, which the worker logs, must not keep apps from uploading.
      return transact(context, actor, work);
    }
  }
}

/** Moves what waits of a user, a change after the other. */
async function moveAll(context: Context, user_id: number): Promise<void> {
  let place: Place | undefined;
  for (;;) {
    const [first] = await context.database.read((tx) => anyMoves(tx, { user_id }));
    if (!first) return;
    place = await movePart(context, { user_id, ...first }, place);
    await nextTurn();
  }
}

/** @param known how far the user's moves had come, maybe those of an earlier change @returns how far they have come then */
async function movePart(
  context: Context,
  { user_id, batch }: { user_id: number; batch: number },
  known: Place | undefined,
): Promise<Place> {
  const place = known?.batch === batch ? known : { batch, named: true, episode: 0 };
  const { named, episode: after } = place;
  const { moves, ids, to } = await context.database.read(async (tx) => {
    const moves = await listMoves(tx, { user_id, batch });
    const podcasts = new Set(columnOf(moves, "podcast"));
    const end = Math.min(after + LOOKED_AT, moves[0]?.last_episode ?? 0);
    const found = await listPodcastsBetween(tx, { user_id, after, to: end });
    const ids = found.filter(({ podcast, guid_key }) => podcasts.has(podcast) && (guid_key !== null) === named);
    const part = ids.slice(0, context.moving.part);
    return { moves, ids: part, to: (part.length < ids.length ? part.at(-1)?.id : undefined) ?? end };
  });
  const [first] = moves;
  const isEnd = !first || to >= first.last_episode;
  const isLast = isEnd && !named;
  if (first && (ids.length > 0 || isLast)) {
    const isDone = await transact(context, actAsWorker(user_id), async (user) => {
      if (!(await moveEpisodes(user, batch, ids))) return false;
      if (isLast) await deleteMoves(user.tx, { user_id, batch });
      return true;
    });
    if (!isDone) return place;
  }
  return { batch, named: named && !isEnd, episode: isEnd ? 0 : to };
}
