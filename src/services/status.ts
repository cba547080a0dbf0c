// Counts over all users, for monitoring.
import type { DatabaseStatus } from "../db/database.ts";
import { countLookups } from "../store/feed-lookups.ts";
import { countDeletions, countLiveSubscriptions, oldestPending } from "../store/status.ts";
import { countUsers } from "../store/users.ts";
import type { Context } from "./context.ts";
import type { DeletionStatus } from "./deletions.ts";

export interface Status extends DatabaseStatus {
  users: number;
  /** Subscriptions that are neither deleted nor unsubscribed. */
  subscriptions: number;
  deletions: Record<DeletionStatus, number>;
  /** Milliseconds since the oldest pending deletion was requested; 0 if none is pending. */
  oldest_pending: number;
  /** Feeds by what their last lookup found; 0 if feeds are not looked up. */
  feeds: Record<"waiting" | "read" | "failing", number>;
}

const NO_FEEDS = { known: 0, checked: 0, failing: 0 };

/** Reads whole tables: call it for each scrape, not for each request. */
export async function readStatus({ database, clock }: Context): Promise<Status> {
  const figures = await database.status();
  return database.read(async (tx) => {
    const [users] = await countUsers(tx, {});
    const [subscriptions] = await countLiveSubscriptions(tx, {});
    const [oldest] = await oldestPending(tx, {});
    const deletions = { PENDING: 0, SUCCESS: 0, FAILURE: 0 };
    for (const { status, count } of await countDeletions(tx, {})) deletions[status] = count;
    const [{ known, checked, failing } = NO_FEEDS] = await countLookups(tx, {});
    const since = oldest?.requested_at ?? null;
    return {
      ...figures,
      users: users?.count ?? 0,
      subscriptions: subscriptions?.count ?? 0,
      deletions,
      oldest_pending: since === null ? 0 : Math.max(0, clock.now() - since),
      feeds: { waiting: known - checked, read: checked - failing, failing },
    };
  });
}
