// Warnings while an app removes most of a list. All is read from the database, so several servers warn once.
import type { Clock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import { appOf, type Change, type ChangedBy, isRemoval } from "../domain/history.ts";
import { FEWEST_REMOVED, MASS_REMOVAL_WINDOW, type MassRemoval } from "../domain/mass-removals.ts";
import { messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import { countChanged } from "../store/change-feed.ts";
import { listLatestChanges } from "../store/history.ts";
import { countSubscribed } from "../store/subscriptions.ts";
import { findName } from "../store/users.ts";
import { isApp, massRemovalsIn } from "./mass-removals.ts";

type Remover = ChangedBy & { user_id: string };

export interface RemovalWatch {
  /** Notes what somebody has changed in one transaction, which is durable. */
  note(by: Remover, changes: Change[]): void;
}

const MESSAGE = "an app removed most of a list";
/** How far back removals are read, in milliseconds: one that goes on for so long is one. */
const LOOK_BACK = 24 * MASS_REMOVAL_WINDOW;
/** The least number of changes that are read. */
const FEWEST_READ = 100;
/** Changes that are read for each podcast, because an app may change one again and again. */
const READ_PER_PODCAST = 4;

/** Logs and counts each time that an app removes more than half of a list of ten or more within an hour. */
export function createRemovalWatch(
  { database, clock }: { database: Database; clock: Clock },
  log: Logger,
  metrics: Metrics | undefined,
): RemovalWatch {
  /** The mass removal that these removals made one of, and not an earlier transaction; and whose list it is. */
  function look(by: Remover, removals: Change[]): Promise<{ found: MassRemoval; user: string | undefined } | null> {
    const { user_id } = by;
    return database.read(async (tx) => {
      const now = clock.now();
      const [changed] = await countChanged(tx, { user_id, since: now - MASS_REMOVAL_WINDOW - 1 });
      const recent = Number(changed?.count ?? 0);
      if (recent < FEWEST_REMOVED) return null;
      const [row] = await countSubscribed(tx, { user_id });
      const subscribed = Number(row?.count ?? 0);
      // The rest of the list did not change in this hour, so it was there before.
      if (2 * recent <= subscribed - recent) return null;
      const limit = Math.max(FEWEST_READ, READ_PER_PODCAST * (subscribed + recent));
      const rows = await listLatestChanges(tx, { user_id, from: now - LOOK_BACK, limit });
      const found = massRemovalsIn(rows.toReversed(), subscribed).findLast(({ actor }) => actor === appOf(by));
      if (!found || !removals.some(({ changed_at }) => changed_at === found.noticed_at)) return null;
      const [named] = await findName(tx, { user_id });
      return { found, user: named?.name };
    });
  }

  async function check(by: Remover, removals: Change[]): Promise<void> {
    const known = await look(by, removals);
    if (!known) return;
    const { found, user } = known;
    metrics?.massRemoval();
    log.warn(
      { user, token: by.id, label: by.label, device: by.device, removed: found.removed.size, of: found.of },
      MESSAGE,
    );
  }

  return {
    note(by, changes) {
      if (!isApp(by)) return;
      const removals = changes.filter(isRemoval);
      if (removals.length === 0) return;
      check(by, removals).catch((error) => log.error({ reason: messageOf(error) }, "removals can't be counted"));
    },
  };
}
