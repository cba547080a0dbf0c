// The deletion worker: carries out what is due, retries what failed, and gives up with a reason (P6).
import { deleteSubscription, touchSubscription } from "../../domain/subscription-rules.ts";
import { DomainError, messageOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import {
  countAttempt,
  finishDeletion,
  listDueDeletions,
  nextDue,
  noteFailure,
  type Requester,
} from "../../store/deletions.ts";
import { type Actor, actAsWorker } from "../actor.ts";
import { BackgroundWorker } from "../background-worker.ts";
import type { Context } from "../context.ts";
import { deleteEpisodesOf } from "../listening/episode-moves.ts";
import { transact } from "../transact.ts";
import { loadWorkingSet, saveWorkingSet } from "./working-set.ts";

/** Deletions carried out at a time; they share commits. */
const BATCH = 256;
const INTERRUPTED = "the server stopped during the last attempt";

type Due = Awaited<ReturnType<typeof listDueDeletions>>[number];

/** The share of the maximum by which pauses are shorter: servers' clocks may differ by it, a minute in an hour. */
const CLOCK_MARGIN = 1 / 60;

/** The pause in milliseconds after this many attempts: four times as long each time. */
export function pauseAfter(attempts: number, { deletion_pause, deletion_pause_max }: Context["config"]): number {
  return Math.floor(Math.min(deletion_pause * 4 ** (attempts - 1), deletion_pause_max * (1 - CLOCK_MARGIN)));
}

/** Carries out deletions. Errors are logged, and the work is tried again. */
export const createDeletionWorker = (context: Context, log: Logger): BackgroundWorker =>
  new BackgroundWorker({
    step: () => startDue(context, log),
    pause: () => untilNext(context),
    failed: (error) => {
      log.error({ reason: messageOf(error) }, "deletions are delayed");
      return context.config.deletion_poll;
    },
  });

/** @returns whether any deletion was due @throws DomainError "unavailable" if the database can't be written */
async function startDue(context: Context, log: Logger): Promise<boolean> {
  const { database, clock, config } = context;
  const now = clock.now();
  const query = { now, horizon: now + config.deletion_pause_max, limit: BATCH };
  const due = await database.read((tx) => listDueDeletions(tx, query));
  if (due.length === 0) return false;
  const done = await Promise.all(due.map((one) => attempt(context, log, one)));
  if (!done.includes(true)) throw new DomainError("unavailable", "No deletion can be started now");
  return true;
}

async function untilNext({ database, clock, config }: Context): Promise<number> {
  const [next] = await database.read((tx) => nextDue(tx, {}));
  const pause = next ? next.run_after - clock.now() : config.deletion_poll;
  return Math.min(Math.max(pause, 10), config.deletion_poll);
}

// True if the deletion was taken, also if it then failed. Counting the attempt also sets its next time: the first process to
// count has it until then, and if that process dies, it becomes due again.
async function attempt(context: Context, log: Logger, due: Due): Promise<boolean> {
  const { user_id, id, attempts, user } = due;
  const { database, config, clock } = context;
  if (attempts >= config.deletion_attempts) return giveUp(context, log, due, INTERRUPTED);
  try {
    const run_after = clock.now() + pauseAfter(attempts + 1, config);
    const counted = await database.write((tx) => countAttempt(tx, { user_id, id, attempts, run_after }), user_id);
    if (counted.length === 0) return true;
  } catch (error) {
    log.error({ user, deletion: id, reason: messageOf(error) }, "deletion can't be started");
    return false;
  }
  try {
    const done = await finish(context, due, { status: "SUCCESS", message: null });
    if (done) log.info({ user, deletion: id }, "deletion done");
    return true;
  } catch (error) {
    const reason = messageOf(error);
    log.error({ user, deletion: id, attempt: attempts + 1, reason }, "deletion failed");
    if (attempts + 1 >= config.deletion_attempts) return giveUp(context, log, due, reason);
    await database.write((tx) => noteFailure(tx, { user_id, id, message: reason }), user_id).catch(() => {});
    return true;
  }
}

async function giveUp(context: Context, log: Logger, due: Due, reason: string): Promise<boolean> {
  const { id, user } = due;
  const message = `${reason} (attempt ${context.config.deletion_attempts}, the last one)`;
  try {
    const done = await finish(context, due, { status: "FAILURE", message });
    if (done) log.error({ user, deletion: id, reason: message }, "deletion given up");
    return true;
  } catch (error) {
    log.error({ user, deletion: id, reason: messageOf(error) }, "deletion can't be given up");
    return false;
  }
}

/** Who asked for a deletion, because the history names that app; the worker for deletions older than the history. */
function requesterOf(row: Requester, worker: Actor): Actor {
  if (row.actor_kind === null) return worker;
  return { ...worker, kind: row.actor_kind, id: row.actor_id, label: row.actor_label, device: row.actor_device };
}

// Claims the deletion by its outcome and changes the subscription, in one transaction. False if another process has
// finished it.
function finish(
  context: Context,
  { user_id, id }: Due,
  outcome: { status: "SUCCESS" | "FAILURE"; message: string | null },
): Promise<boolean> {
  const isDone = outcome.status === "SUCCESS";
  return transact(context, actAsWorker(user_id), async (user) => {
    const finished_at = context.clock.now();
    const [claimed] = await finishDeletion(user.tx, { user_id, id, ...outcome, finished_at });
    if (!claimed) return false;
    const set = await loadWorkingSet(user, { ids: [claimed.subscription] });
    const subscription = set.byId(claimed.subscription);
    // One that failed moves in the change feed, so that apps which have removed the subscription get it back.
    if (subscription) (isDone ? deleteSubscription : touchSubscription)(set, subscription);
    const actor = isDone ? requesterOf(claimed, user.actor) : user.actor;
    await saveWorkingSet({ ...user, actor }, set, context);
    if (isDone) await deleteEpisodesOf(user, claimed.subscription);
    return true;
  });
}
