// Statements that count over all users.
import { sql } from "kysely";
import { statement } from "../db/statement.ts";

/** Users by their ids: those after `after`, up to `last`. */
type Users = { after: string; last: string };

export const countLiveSubscriptions = statement((db, p: Users) =>
  db
    .selectFrom("subscriptions")
    .select((row) => row.fn.countAll<number>().as("count"))
    .where("user_id", ">", p.after)
    .where("user_id", "<=", p.last)
    .where("deleted", "is", null)
    .where((row) => row("is_subscribed", "=", row.lit(1))),
);

export const countDeletions = statement((db, p: Users) =>
  db
    .selectFrom("deletions")
    .select((row) => ["status", row.fn.countAll<number>().as("count")])
    .where("user_id", ">", p.after)
    .where("user_id", "<=", p.last)
    .groupBy("status"),
);

export const oldestPending = statement((db) =>
  db
    .selectFrom("deletions")
    .select((row) => row.fn.min("requested_at").as("requested_at"))
    .where("status", "=", sql.lit("PENDING" as const)),
);
