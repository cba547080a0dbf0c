// The worker that moves episodes in parts, because one change left many.
import { fillUp, type Tx } from "../../db/statement.ts";
import { isRefusal, messageOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { anyMoves, deleteMoves, findMoves, findWaiting, listMoved } from "../../store/episode-moves.ts";
import { listPodcastsBetween, listPodcastsIn } from "../../store/episodes.ts";
import { columnOf, rowsOf } from "../../store/rows.ts";
import { nextTurn } from "../../turns.ts";
import { type Actor, actAsWorker } from "../actor.ts";
import { BackgroundWorker } from "../background-worker.ts";
import type { Context } from "../context.ts";
import { transact, type UserTx } from "../transact.ts";
import { haveWaiting, moveEpisodes } from "./episode-moves.ts";

/** Moves of a change that are few: those of one part of an upload. */
const FEW = 128;
/** Episodes that are looked at for those of one transaction. */
const LOOKED_AT = 2048;

type Waiting = Awaited<ReturnType<typeof findWaiting>>[number];

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

  /** The next user after the last one whose moves wait, and have not failed. */
  async function findNext(): Promise<Waiting | undefined> {
    for (const start of [last, 0]) {
      let [one] = await database.read((tx) => findWaiting(tx, { after: start }));
      while (one && failed.has(one.user_id)) {
        const { user_id: after } = one;
        [one] = await database.read((tx) => findWaiting(tx, { after }));
      }
      if (one) return one;
    }
  }

  async function step(): Promise<boolean> {
    const one = await findNext();
    if (!one) {
      failed.clear();
      return false;
    }
    const { user_id } = one;
    last = user_id;
    await nextTurn();
    try {
      const place = await movePart(context, one, places.get(user_id));
      if (place) places.set(user_id, place);
      else places.delete(user_id);
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
 * @param work resolves to null if the next transaction has to do it again
 */
export async function transactAfterMoves<T>(
  context: Context,
  actor: Actor,
  work: (user: UserTx) => Promise<T | null>,
): Promise<T> {
  const { user_id } = actor;
  let waits = true;
  for (;;) {
    const done = await transact(context, actor, async (user) =>
      waits && (await haveWaiting(user)) ? null : work(user),
    );
    if (done !== null) return done;
    await nextTurn();
    try {
      await moveAll(context, user_id);
    } catch (error) {
      if (isRefusal(error, "unavailable")) throw error;
      // A defect in moves, which the worker logs, must not keep apps from uploading.
      waits = false;
    }
  }
}

/** Moves what waits of a user, a change after the other. */
async function moveAll(context: Context, user_id: number): Promise<void> {
  let place: Place | undefined;
  for (;;) {
    const [first] = await context.database.read((tx) => anyMoves(tx, { user_id }));
    if (!first) return;
    place = await movePart(context, first, place);
    await nextTurn();
  }
}

/**
 * @param known how far the user's moves had come, maybe those of an earlier change
 * @returns how far these have come; undefined if they are done
 */
async function movePart(
  context: Context,
  { user_id, batch, until, last_episode }: Waiting,
  known: Place | undefined,
): Promise<Place | undefined> {
  const place = known?.batch === batch ? known : { batch, named: true, episode: 0 };
  const { named, episode: after } = place;
  const { ids, to } = await context.database.read(async (tx) => {
    const looked = await lookAt(tx, { user_id, batch, last_episode }, after);
    const ids = looked.found.filter(({ guid_key }) => (guid_key !== null) === named);
    const part = ids.slice(0, context.episodeMoving.part);
    return { ids: part, to: (part.length < ids.length ? part.at(-1)?.id : undefined) ?? looked.to };
  });
  const isEnd = to >= last_episode;
  const isLast = isEnd && !named;
  if (ids.length > 0 || isLast) {
    const move = async (user: UserTx) => {
      if (!(await moveEpisodes(user, { batch, until }, ids))) return false;
      if (isLast) await deleteMoves(user.tx, { user_id, batch });
      return true;
    };
    const isDone = await transact(context, actAsWorker(user_id), move, "episodes");
    if (!isDone) return place;
  }
  return isLast ? undefined : { batch, named: named && !isEnd, episode: isEnd ? 0 : to };
}

/**
 * Finds the episodes that a change moves: all of them if they are few, else those among the next ids.
 * @returns them in the order of their ids, and up to which id they are complete
 */
async function lookAt(tx: Tx, { user_id, batch, last_episode }: Omit<Waiting, "until">, after: number) {
  const few = await listFew(tx, { user_id, batch });
  if (few) {
    const found = few.filter(({ id }) => id > after && id <= last_episode);
    return { found: found.sort((one, other) => one.id - other.id), to: last_episode };
  }
  const to = Math.min(after + LOOKED_AT, last_episode);
  const all = await listPodcastsBetween(tx, { user_id, after, to });
  const moves = await findMoves(tx, { user_id, batch }, rowsOf("podcast", columnOf(all, "podcast")));
  const podcasts = new Set(columnOf(moves, "podcast"));
  return { found: all.filter(({ podcast }) => podcasts.has(podcast)), to };
}

/** All episodes that a change moves; null if they, or their podcasts, are more than a few. */
async function listFew(tx: Tx, { user_id, batch }: { user_id: number; batch: number }) {
  const moved = await listMoved(tx, { user_id, batch, limit: FEW + 1 });
  if (moved.length > FEW) return null;
  const podcasts = rowsOf("podcast", columnOf(moved, "podcast"));
  const found = await listPodcastsIn(tx, { user_id, limit: LOOKED_AT }, fillUp(podcasts, { podcast: 0 }));
  return found.length < LOOKED_AT ? found : null;
}
