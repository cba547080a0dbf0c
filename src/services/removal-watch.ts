// Warnings while an app removes most of a list.
import type { Clock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import { isMassRemoval, MASS_REMOVAL_WINDOW } from "../domain/mass-removals.ts";
import { messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import { countSubscribed } from "../store/subscriptions.ts";

/** Who removes: the part of an actor that says which app it is. */
interface Remover {
  user_id: string;
  kind: "token" | "session" | "admin" | "worker";
  id: string | null;
  label: string | null;
  device: string | null;
}

export interface RemovalWatch {
  /** Notes that an app has removed subscriptions, durably. @param ids their ids */
  note(by: Remover, ids: number[]): void;
}

/** What one app removed within the last hour. */
interface Count {
  /** Wall times of the removals, by the subscription's id. */
  removed: Map<number, number>;
  /** The list is counted if at least so many were removed. */
  check: number;
}

/** The least that can be more than half of a list of ten. */
const FIRST_CHECK = 6;
/** Apps that are counted at a time. */
const MOST = 10_000;

/** Logs and counts each time that an app removes more than half of a list of ten or more within an hour. */
export function createRemovalWatch(
  { database, clock }: { database: Database; clock: Clock },
  log: Logger,
  metrics: Metrics | undefined,
): RemovalWatch {
  const counts = new Map<string, Count>();

  async function check(by: Remover, removed: number, count: Count): Promise<void> {
    const { user_id, id, label, device } = by;
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
    for (const [id, at] of count?.removed ?? []) {
      if (Math.abs(now - at) <= MASS_REMOVAL_WINDOW) break;
      count?.removed.delete(id);
    }
    if (!count || count.removed.size === 0) {
      count = { removed: new Map(), check: FIRST_CHECK };
      if (counts.size >= MOST) counts.clear();
      counts.set(key, count);
    }
    return count;
  }

  return {
    note(by, ids) {
      // Admins and the worker remove on purpose.
      if (by.kind !== "token" && by.kind !== "session") return;
      const now = clock.now();
      const key = JSON.stringify([by.user_id, by.kind, by.id, by.label, by.device]);
      const count = countOf(key, now);
      for (const id of ids) {
        // The oldest come first.
        count.removed.delete(id);
        count.removed.set(id, now);
      }
      const { size } = count.removed;
      if (size < count.check) return;
      check(by, size, count).catch((error) => log.error({ reason: messageOf(error) }, "removals can't be counted"));
    },
  };
}
