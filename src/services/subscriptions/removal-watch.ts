// Warnings while an app removes most of a list. All is read from the database, so several servers warn once.
import { setTimeout as wait } from "node:timers/promises";
import { type Clock, timeForChanges } from "../../clock.ts";
import type { Database } from "../../db/database.ts";
import { appOf, type Change, type ChangedBy, isRemoval } from "../../domain/history.ts";
import { FEWEST_REMOVED, MASS_REMOVAL_WINDOW, type MassRemoval } from "../../domain/mass-removals.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import type { Metrics } from "../../metrics.ts";
import { countChanged } from "../../store/change-feed.ts";
import { countSubscribed } from "../../store/subscriptions.ts";
import { findName } from "../../store/users.ts";
import { type Act, isApp, massRemovalsIn, readActs } from "./mass-removals.ts";

type Reader = Pick<Database, "read">;

type Remover = ChangedBy & { user_id: number };

interface Removals {
  /** When the first of them was noted, on the clock of timestamps. */
  at: number;
  removals: Change[];
}

export interface RemovalWatch {
  /** Notes what somebody has changed in one transaction, which is durable. */
  note(by: Remover, changes: Change[]): void;
  /** Resolves when it looks at nothing any more; from then on it looks without pauses, as of a server that stops. */
  idle(): Promise<void>;
}

const MESSAGE = "an app removed most of a list";
/** How far back removals are read, in milliseconds: one that goes on for so long is one. */
const LOOK_BACK = 24 * MASS_REMOVAL_WINDOW;
/** The least number of changes that are read. */
const FEWEST_READ = 100;
/** How much longer than a look the pause after it is: an app may remove podcasts one by one. */
const REST = 4;
/** Changes that are read for each podcast, because an app may change one again and again. */
const READ_PER_PODCAST = 4;

/** Logs and counts each time that an app removes more than half of a list of ten or more within an hour. */
export function createRemovalWatch(
  { database, clock }: { database: Reader; clock: Clock },
  log: Logger,
  metrics: Metrics | undefined,
): RemovalWatch {
  async function check(by: Remover, noted: Removals): Promise<void> {
    const known = await findMassRemoval(database, by, noted);
    if (!known) return;
    const { found, user } = known;
    metrics?.massRemoval();
    log.warn(
      { user, token: by.id, label: by.label, device: by.device, removed: found.removed.size, of: found.of },
      MESSAGE,
    );
  }

  /** Removals that wait for the next look at what an app does, by user and app. */
  const waiting = new Map<string, Removals | null>();
  const watching = new Set<Promise<void>>();
  const stopped = new AbortController();

  /** Looks once at all removals that were noted during the last look. */
  async function watch(key: string, by: Remover, first: Removals): Promise<void> {
    try {
      for (let noted: Removals | null | undefined = first; noted; noted = waiting.get(key)) {
        waiting.set(key, null);
        const begun = performance.now();
        await check(by, noted);
        const rest = REST * (performance.now() - begun);
        await wait(rest, undefined, { signal: stopped.signal }).catch(() => {});
      }
    } finally {
      waiting.delete(key);
    }
  }

  return {
    note(by, changes) {
      if (!isApp(by)) return;
      const removals = changes.filter(isRemoval);
      if (removals.length === 0) return;
      const key = JSON.stringify([by.user_id, appOf(by)]);
      const noted = waiting.get(key) ?? { at: timeForChanges(clock.now()), removals: [] };
      for (const one of removals) noted.removals.push(one);
      if (waiting.has(key)) {
        waiting.set(key, noted);
        return;
      }
      const watched = watch(key, by, noted)
        .catch((error) => log.error({ reason: messageOf(error) }, "removals can't be counted"))
        .finally(() => watching.delete(watched));
      watching.add(watched);
    },
    async idle() {
      stopped.abort();
      while (watching.size > 0) await Promise.all(watching);
    },
  };
}

/** The mass removal that these removals made one of, and not an earlier transaction; and whose list it is. */
async function findMassRemoval(
  database: Reader,
  by: Remover,
  { at: now, removals }: Removals,
): Promise<{ found: MassRemoval<Act>; user: string | undefined } | null> {
  const { user_id } = by;
  const limit = await database.read(async (tx) => {
    const [changed] = await countChanged(tx, { user_id, since: now - MASS_REMOVAL_WINDOW - 1 });
    const recent = changed?.count ?? 0;
    const subscribed = await countSubscribed(tx, { user_id });
    // The rest of the list did not change in this hour, so it was there before.
    if (recent < FEWEST_REMOVED || 2 * recent <= subscribed - recent) return 0;
    return Math.max(FEWEST_READ, READ_PER_PODCAST * (subscribed + recent));
  });
  if (limit === 0) return null;
  const read = await readActs(database, { user_id, from: now - LOOK_BACK, limit });
  const found = massRemovalsIn(read).findLast(({ to }) => to.actor === appOf(by));
  if (!found || !removals.some(({ changed_at }) => changed_at === found.noticed_at)) return null;
  const [named] = await database.read((tx) => findName(tx, { user_id }));
  return { found, user: named?.name };
}
