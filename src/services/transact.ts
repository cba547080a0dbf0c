// One user's write transaction: the user's row is the lock, and its clock gives the timestamps (P1).
import { timeForChanges } from "../clock.ts";
import type { Changes } from "../db/database.ts";
import type { Tx } from "../db/statement.ts";
import { DomainError } from "../errors.ts";
import { lockUser, readClock, readCounters, saveCounters } from "../store/users.ts";
import { type Actor, requireWrite } from "./actor.ts";
import type { Context, EpisodeMoving } from "./context.ts";

/** A write transaction on one user's data. */
export interface UserTx {
  readonly tx: Tx;
  readonly actor: Actor;
  readonly user_id: number;
  /** The next timestamp: later than the user's clock, and not before the wall clock. */
  nextTimestamp(): number;
  /** The user's clock: the last timestamp given out, in this transaction too. */
  clock(): number;
  /** Moves the user's clock on, so that no later change has a timestamp up to this one. */
  moveClock(timestamp: number): void;
  /** How many subscriptions there ever were. */
  subscriptions(): number;
  nextSubscription(): number;
  nextDeletion(): number;
  /** How many episodes there ever were. */
  episodes(): number;
  nextEpisode(): number;
  nextPlay(): number;
  /** Runs `act` once the transaction is durable. It must not throw. */
  afterCommit(act: () => void): void;
  readonly episodeMoving: EpisodeMoving;
}

/** What write transactions take of the context. */
export type WriteContext = Pick<Context, "database" | "clock" | "episodeMoving">;

type Counters = Awaited<ReturnType<typeof lockUser>>[number];

/**
 * Runs `work` with the user's row locked, and stores the timestamps and ids that it took. `work` may run more than once.
 * @throws DomainError "unauthorized" if the actor may only read, or the user was deleted
 */
export function transact<T>(
  context: WriteContext,
  actor: Actor,
  work: (user: UserTx) => Promise<T>,
  changes?: Changes,
): Promise<T> {
  requireWrite(actor);
  return transactAsReader(context, actor, work, changes);
}

/** The same for actors that may only read: `work` keeps what the actor's app has read. @throws as `transact` does */
export async function transactAsReader<T>(
  { database, clock: wall, episodeMoving }: WriteContext,
  actor: Actor,
  work: (user: UserTx) => Promise<T>,
  changes?: Changes,
): Promise<T> {
  const { user_id } = actor;
  let acts: (() => void)[] = [];
  const result = await database.write(
    async (tx) => {
      acts = [];
      const row = requireRow(await lockUser(tx, { user_id }));
      const afterCommit = (act: () => void) => acts.push(act);
      const user = { tx, actor, user_id, ...counting(row, wall), afterCommit, episodeMoving };
      const result = await work(user);
      const { counters } = user;
      if (!Bun.deepEquals(counters, row)) await saveCounters(tx, { user_id, ...counters });
      return result;
    },
    user_id,
    changes,
  );
  for (const act of acts) act();
  return result;
}

/** Runs `work` on a read snapshot, with timestamps and ids that are not kept. @throws as `transact` does */
export function rehearse<T>(
  { database, clock: wall, episodeMoving }: WriteContext,
  actor: Actor,
  work: (user: UserTx) => Promise<T>,
): Promise<T> {
  requireWrite(actor);
  const { user_id } = actor;
  return database.read(async (tx) => {
    const row = requireRow(await readCounters(tx, { user_id }));
    return work({ tx, actor, user_id, ...counting(row, wall), afterCommit: () => {}, episodeMoving });
  });
}

function requireRow([row]: Counters[]): Counters {
  if (!row) throw deleted();
  return row;
}

/** The error if the user is not there any more, or is being deleted. */
export const deleted = () => new DomainError("unauthorized", "The user was deleted");

/**
 * The user's clock, for a read that an app may take for the whole list.
 * @throws DomainError "unauthorized" if the user was deleted since the app signed in
 */
export async function clockIn(tx: Tx, user_id: number): Promise<number> {
  const [row] = await readClock(tx, { user_id });
  if (!row) throw deleted();
  return row.clock;
}

function counting(row: Counters, wall: Context["clock"]) {
  const counters = { ...row };
  let hasStamped = false;
  return {
    counters,
    nextTimestamp: () => {
      const now = hasStamped ? 0 : timeForChanges(wall.now());
      hasStamped = true;
      counters.clock = Math.max(now, counters.clock + 1);
      return counters.clock;
    },
    clock: () => counters.clock,
    moveClock: (timestamp: number) => {
      counters.clock = Math.max(counters.clock, timestamp);
    },
    subscriptions: () => counters.last_subscription,
    nextSubscription: () => ++counters.last_subscription,
    nextDeletion: () => ++counters.last_deletion,
    episodes: () => counters.last_episode,
    nextEpisode: () => ++counters.last_episode,
    nextPlay: () => ++counters.last_play,
  };
}
