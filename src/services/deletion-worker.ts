// The deletion worker: finds what is due, tries it, waits, and gives up with a reason (P6).

import { DomainError, messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import { countAttempt, finishDeletion, listDue, nextDue, noteFailure } from "../store/deletions.ts";
import { touchSubscription } from "../store/subscriptions.ts";
import type { Context } from "./context.ts";
import { cascade } from "./deletion-cascade.ts";
import { transact } from "./transact.ts";

/** Records under way at a time; they share commits. */
const BATCH = 256;
const INTERRUPTED = "the server stopped in the middle of the last attempt";

interface Due {
  user_id: string;
  id: number;
  attempts: number;
}

export interface DeletionWorker {
  /** Looks for due work now, and from then on by the clock. */
  start(): void;
  /** Looks for due work now. */
  wake(): void;
  /** Runs all that is due to its end. @throws DomainError "unavailable" where the database can't be written */
  drain(): Promise<void>;
  /** Finishes the records under way and takes no more. */
  stop(): Promise<void>;
}

/** The pause in milliseconds after this many attempts: four times as long each time. */
export function pauseAfter(attempts: number, { deletion_pause, deletion_pause_max }: Context["config"]): number {
  return Math.min(deletion_pause * 4 ** (attempts - 1), deletion_pause_max);
}

/** Makes the worker, which rests until it is started; what goes wrong is logged, and tried again. */
export function createWorker(context: Context, log: Logger): DeletionWorker {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let running: Promise<void> | null = null;
  let wanted = false;
  let started = false;
  let stopped = false;

  async function drain(): Promise<void> {
    do {
      wanted = false;
      while (!stopped) {
        const due = await findDue(context);
        if (due.length === 0) break;
        const done = await Promise.all(due.map((one) => attempt(context, log, one)));
        if (!done.includes(true)) throw new DomainError("unavailable", "Deletions can't be started now");
      }
    } while (wanted && !stopped);
  }

  function wake(): void {
    if (!started || stopped) return;
    if (running) {
      wanted = true;
      return;
    }
    if (timer) clearTimeout(timer);
    running = drain()
      .then(() => untilNext(context))
      .catch((error) => {
        log.error({ reason: messageOf(error) }, "deletions have to wait");
        return context.config.deletion_poll;
      })
      .then((pause) => {
        running = null;
        if (!stopped) timer = setTimeout(wake, wanted ? 0 : pause);
      });
  }

  return {
    start() {
      started = true;
      wake();
    },
    wake,
    drain,
    async stop() {
      stopped = true;
      if (timer) clearTimeout(timer);
      await running;
    },
  };
}

async function untilNext({ database, clock, config }: Context): Promise<number> {
  const [next] = await database.read((tx) => nextDue(tx, {}));
  const pause = next ? next.run_after - clock.now() : config.deletion_poll;
  return Math.min(Math.max(pause, 10), config.deletion_poll);
}

function findDue({ database, clock, config }: Context): Promise<Due[]> {
  const now = clock.now();
  return database.read((tx) => listDue(tx, { now, horizon: now + config.deletion_pause_max, limit: BATCH }));
}

// True where the record was taken, by whatever end. Counting the attempt also puts the record off until the next one:
// whoever counts first has it for that long, and if this process dies it comes up again by itself.
async function attempt(context: Context, log: Logger, { user_id, id, attempts }: Due): Promise<boolean> {
  const { database, config, clock } = context;
  if (attempts >= config.deletion_attempts) return giveUp(context, log, { user_id, id }, INTERRUPTED);
  try {
    const run_after = clock.now() + pauseAfter(attempts + 1, config);
    const counted = await database.write((tx) => countAttempt(tx, { user_id, id, attempts, run_after }), user_id);
    if (counted.length === 0) return true;
  } catch (error) {
    log.error({ user_id, deletion: id, reason: messageOf(error) }, "deletion can't be started");
    return false;
  }
  try {
    await transact(context, user_id, async (tx) => {
      const done = { user_id, id, status: "SUCCESS", message: null, finished_at: clock.now() } as const;
      const [claimed] = await finishDeletion(tx.tx, done);
      if (claimed) await cascade(tx, claimed.subscription);
    });
    log.info({ user_id, deletion: id }, "deletion done");
    return true;
  } catch (error) {
    const reason = messageOf(error);
    log.error({ user_id, deletion: id, attempt: attempts + 1, reason }, "deletion failed");
    if (attempts + 1 >= config.deletion_attempts) return giveUp(context, log, { user_id, id }, reason);
    await database.write((tx) => noteFailure(tx, { user_id, id, message: reason }), user_id).catch(() => {});
    return true;
  }
}

// The subscription moves in the change feed, so that clients which have forgotten it get it back.
async function giveUp(context: Context, log: Logger, key: Omit<Due, "attempts">, reason: string): Promise<boolean> {
  const message = `${reason} (attempt ${context.config.deletion_attempts}, the last one)`;
  try {
    await transact(context, key.user_id, async ({ tx, stamp }) => {
      const [claimed] = await finishDeletion(tx, {
        ...key,
        status: "FAILURE",
        message,
        finished_at: context.clock.now(),
      });
      if (claimed) await touchSubscription(tx, { user_id: key.user_id, id: claimed.subscription, stamp: stamp() });
    });
    log.error({ user_id: key.user_id, deletion: key.id, reason: message }, "deletion given up");
    return true;
  } catch (error) {
    log.error({ user_id: key.user_id, deletion: key.id, reason: messageOf(error) }, "deletion can't be given up");
    return false;
  }
}
