// Warnings while an app removes most of a list.
import { isMassRemoval, MASS_REMOVAL_WINDOW } from "../domain/mass-removals.ts";
import { messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import { countSubscribed } from "../store/subscriptions.ts";
import type { Actor } from "./actor.ts";
import type { Context } from "./context.ts";

export interface RemovalWatch {
  /** Notes that an app has removed so many podcasts, durably. */
  note(actor: Actor, count: number): void;
}

/** What one app removed within the last hour. */
interface Count {
  /** Removals by the minute of their wall time. */
  minutes: Map<number, number>;
  /** The list is counted if at least so many were removed. */
  check: number;
}

const MINUTE = 60_000;

/** The least that can be more than half of a list of ten. */
const FIRST_CHECK = 6;
/** Apps that are counted at a time. */
const MOST = 10_000;

/** Logs and counts each time that an app removes more than half of a list of ten or more within an hour. */
export function createRemovalWatch(
  { database, clock }: Pick<Context, "database" | "clock">,
  log: Logger,
  metrics: Metrics | undefined,
): RemovalWatch {
  const counts = new Map<string, Count>();

  async function check(actor: Actor, removed: number, count: Count): Promise<void> {
    const { user_id, id, label, device } = actor;
    const [row] = await database.read((tx) => countSubscribed(tx, { user_id }));
    const of = Number(row?.count ?? 0) + removed;
    if (count.check > removed) return;
    if (!isMassRemoval(removed, of)) {
      count.check = Math.max(FIRST_CHECK, Math.floor(of / 2) + 1);
      return;
    }
    count.check = Number.POSITIVE_INFINITY;
    metrics?.massRemoval();
    log.warn({ user_id, token: id, label, device, removed, of }, "an app removed most of a list");
  }

  function countOf(key: string, now: number): Count {
    let count = counts.get(key);
    for (const minute of count?.minutes.keys() ?? []) {
      if (Math.abs(now - minute * MINUTE) > MASS_REMOVAL_WINDOW) count?.minutes.delete(minute);
    }
    if (!count || count.minutes.size === 0) {
      count = { minutes: new Map(), check: FIRST_CHECK };
      if (counts.size >= MOST) counts.clear();
      counts.set(key, count);
    }
    return count;
  }

  return {
    note(actor, removed) {
      // Admins and the worker remove on purpose.
      if (actor.kind !== "token" && actor.kind !== "session") return;
      const now = clock.now();
      const key = JSON.stringify([actor.user_id, actor.kind, actor.id, actor.label, actor.device]);
      const count = countOf(key, now);
      const minute = Math.floor(now / MINUTE);
      count.minutes.set(minute, (count.minutes.get(minute) ?? 0) + removed);
      const all = [...count.minutes.values()].reduce((sum, one) => sum + one, 0);
      if (all < count.check) return;
      check(actor, all, count).catch((error) => log.error({ reason: messageOf(error) }, "removals can't be counted"));
    },
  };
}
