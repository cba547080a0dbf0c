// Statements that count over all users.
import { sql } from "kysely";
import { bulkStatement, statement } from "../db/statement.ts";
import { columnOf } from "./rows.ts";

/** Users by their ids: those after `after`, up to `last`. */
type Users = { after: number; last: number };

/** A row for each user who has any. */
export const countLiveSubscriptions = bulkStatement((db, _: Record<string, never>, users: { id: number }[]) =>
  db
    .selectFrom("subscriptions")
    .select((row) => ["user_id", row.fn.countAll<number>().as("count")])
    .where("user_id", "in", columnOf(users, "id"))
    .where("deleted", "is", null)
    .where((row) => row("is_subscribed", "=", row.lit(1)))
    .groupBy("user_id"),
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
