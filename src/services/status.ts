// Counts over all users, for monitoring.
import type { DatabaseStatus } from "../db/database.ts";
import { countLookups } from "../store/feed-lookups.ts";
import { countDeletions, countLiveSubscriptions, oldestPending } from "../store/status.ts";
import { nextTurn } from "../turns.ts";
import { readUsers } from "./accounts/users.ts";
import type { Context } from "./context.ts";
import type { DeletionStatus } from "./subscriptions/deletions.ts";

export interface Status extends DatabaseStatus {
  users: number;
  /** For the next call. */
  counts: Counts;
  /** Subscriptions that are neither deleted nor unsubscribed. */
  subscriptions: number;
  deletions: Record<DeletionStatus, number>;
  /** Milliseconds since the oldest pending deletion was requested; 0 if none is pending. */
  oldest_pending: number;
  /** Feeds by what their last lookup found; 0 if feeds are not looked up. */
  feeds: Record<"waiting" | "read" | "failing", number>;
}

const NO_FEEDS = { known: 0, checked: 0, failing: 0 };

/** Users whose clocks are read in one turn of the event loop, and those whose rows are counted in one. */
const [CLOCKS, BATCH] = [1000, 50];

/** The live subscriptions of each user, and the user's clock when they were counted. */
export type Counts = Map<number, { clock: number; subscriptions: number }>;

/**
 * Reads in turns: call it for each scrape, not for each request.
 * @param counts of the last call; they stand for users whose clock stands still
 */
export async function readStatus(context: Context, counts: Counts = new Map()): Promise<Status> {
  const { database, clock } = context;
  const figures = await database.status();
  const counted = await countRows(context, counts);
  return database.read(async (tx) => {
    const [oldest] = await oldestPending(tx, {});
    const [{ known, checked, failing } = NO_FEEDS] = await countLookups(tx, {});
    const since = oldest?.requested_at ?? null;
    return {
      ...figures,
      ...counted,
      oldest_pending: since === null ? 0 : Math.max(0, clock.now() - since),
      feeds: { waiting: known - checked, read: checked - failing, failing },
    };
  });
}

/** Counts users and their rows, a batch of users at a time. */
async function countRows(
  { database }: Context,
  before: Counts,
): Promise<Pick<Status, "users" | "counts" | "subscriptions" | "deletions">> {
  const counts: Counts = new Map();
  const deletions = { PENDING: 0, SUCCESS: 0, FAILURE: 0 };
  for await (const { after, last, users } of readUsers({ database }, { size: CLOCKS })) {
    const changed: typeof users = [];
    for (const user of users) {
      const known = before.get(user.id);
      if (known?.clock === user.clock) counts.set(user.id, known);
      else changed.push(user);
    }
    for (let start = 0; start < changed.length; start += BATCH, await nextTurn()) {
      const some = changed.slice(start, start + BATCH);
      const rows = await database.read((tx) => countLiveSubscriptions(tx, {}, some));
      const live = new Map(rows.map(({ user_id, count }) => [user_id, count]));
      for (const { id, clock } of some) counts.set(id, { clock, subscriptions: live.get(id) ?? 0 });
    }
    const ended = await database.read((tx) => countDeletions(tx, { after, last }));
    for (const { status, count } of ended) deletions[status] += count;
  }
  const subscriptions = counts.values().reduce((sum, user) => sum + user.subscriptions, 0);
  return { users: counts.size, counts, subscriptions, deletions };
}
