// Warnings while an app removes most of a list.
import type { Clock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import { appOf, type ChangedBy } from "../domain/history.ts";
import { FEWEST_REMOVED, MASS_REMOVAL_WINDOW } from "../domain/mass-removals.ts";
import { messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import { countSubscribed } from "../store/subscriptions.ts";
import { findName } from "../store/users.ts";
import { isApp, readMassRemovals } from "./mass-removals.ts";

type Remover = ChangedBy & { user_id: string };

export interface RemovalWatch {
  /** Notes that an app has removed subscriptions, durably. @param ids their ids */
  note(by: Remover, ids: number[]): void;
}

/** What one app removed within the last hour. */
interface Count {
  /** Wall times of the removals, by the subscription's id. */
  removed: Map<number, number>;
  /** The history is read if at least so many were removed. */
  check: number;
}

const MESSAGE = "an app removed most of a list";
/** Apps that are counted at a time. */
const MOST = 10_000;

/** Logs and counts each time that an app removes more than half of a list of ten or more within an hour. */
export function createRemovalWatch(
  { database, clock }: { database: Database; clock: Clock },
  log: Logger,
  metrics: Metrics | undefined,
): RemovalWatch {
  const counts = new Map<string, Count>();

  // Requests that came after the noted ones may have removed more: the history has one view of all.
  async function check(by: Remover, removed: number, count: Count): Promise<void> {
    const { user_id, id, label, device } = by;
    const { last, subscribed, user } = await database.read(async (tx) => {
      const { found } = await readMassRemovals(tx, user_id, clock.now() - MASS_REMOVAL_WINDOW - 1);
      const [row] = await countSubscribed(tx, { user_id });
      const [named] = await findName(tx, { user_id });
      const last = found.findLast(({ actor }) => actor === appOf(by));
      return { last, subscribed: Number(row?.count ?? 0), user: named?.name };
    });
    if (count.check > removed) return;
    if (!last) {
      count.check = Math.max(FEWEST_REMOVED, Math.floor((subscribed + removed) / 2) + 1);
      return;
    }
    count.check = Number.POSITIVE_INFINITY;
    metrics?.massRemoval();
    log.warn({ user, token: id, label, device, removed: last.removed.size, of: last.of }, MESSAGE);
  }

  function countOf(key: string, now: number): Count {
    let count = counts.get(key);
    for (const [id, at] of count?.removed ?? []) {
      if (Math.abs(now - at) <= MASS_REMOVAL_WINDOW) break;
      count?.removed.delete(id);
    }
    if (!count || count.removed.size === 0) {
      count = { removed: new Map(), check: FEWEST_REMOVED };
      if (counts.size >= MOST) counts.clear();
      counts.set(key, count);
    }
    return count;
  }

  return {
    note(by, ids) {
      if (!isApp(by)) return;
      const now = clock.now();
      const key = JSON.stringify([by.user_id, appOf(by)]);
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
