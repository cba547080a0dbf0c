// Figures over all users, for those who watch the server.

import type { DatabaseStatus } from "../db/database.ts";
import type { Deletion } from "../http/openpodcast/schemas/deletions.ts";
import { countDeletions, countLiveSubscriptions, oldestPending } from "../store/status.ts";
import { countUsers } from "../store/users.ts";
import type { Context } from "./context.ts";

export interface Totals extends DatabaseStatus {
  users: number;
  /** Subscriptions that are neither deleted nor unsubscribed. */
  subscriptions: number;
  deletions: Record<Deletion["status"], number>;
  /** Seconds since the oldest pending deletion was asked for; 0 where none is pending. */
  oldest_pending: number;
}

/** Counts what there is. It reads whole tables, so not more often than it is looked at. */
export async function readTotals({ database, clock }: Context): Promise<Totals> {
  const status = await database.status();
  return database.read(async (tx) => {
    const [users] = await countUsers(tx, {});
    const [subscriptions] = await countLiveSubscriptions(tx, {});
    const [oldest] = await oldestPending(tx, {});
    const deletions = { PENDING: 0, SUCCESS: 0, FAILURE: 0 };
    for (const { status, count } of await countDeletions(tx, {})) deletions[status] = count;
    const since = oldest?.requested_at ?? null;
    return {
      ...status,
      users: users?.count ?? 0,
      subscriptions: subscriptions?.count ?? 0,
      deletions,
      oldest_pending: since === null ? 0 : Math.max(0, (clock.now() - since) / 1000),
    };
  });
}
