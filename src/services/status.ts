// Counts over all users, for monitoring.
import type { DatabaseStatus } from "../db/database.ts";
import { countLookups } from "../store/feed-lookups.ts";
import { countDeletions, countLiveSubscriptions, oldestPending } from "../store/status.ts";
import { listUsersAfter } from "../store/transfer.ts";
import { nextTurn } from "../turns.ts";
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

/** Users whose rows are counted in one turn of the event loop. */
const BATCH = 50;

/** Reads whole tables, in turns: call it for each scrape, not for each request. */
export async function readStatus(context: Context): Promise<Status> {
  const { database, clock } = context;
  const figures = await database.status();
  const counted = await countRows(context);
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
async function countRows({ database }: Context): Promise<Pick<Status, "users" | "subscriptions" | "deletions">> {
  const counted = { users: 0, subscriptions: 0, deletions: { PENDING: 0, SUCCESS: 0, FAILURE: 0 } };
  for (let after: string | undefined = ""; after !== undefined; await nextTurn()) {
    const id: string = after;
    const { users, subscriptions, deletions } = await database.read(async (tx) => {
      const users = await listUsersAfter(tx, { id, limit: BATCH });
      const span = { after: id, last: users.at(-1)?.id ?? id };
      return {
        users,
        subscriptions: await countLiveSubscriptions(tx, span),
        deletions: await countDeletions(tx, span),
      };
    });
    counted.users += users.length;
    counted.subscriptions += Number(subscriptions[0]?.count ?? 0);
    for (const { status, count } of deletions) counted.deletions[status] += Number(count);
    after = users.at(-1)?.id;
  }
  return counted;
}
