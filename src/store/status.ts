// Statements that count over all users.
import { sql } from "kysely";
import { statement } from "../db/statement.ts";

export const countLiveSubscriptions = statement((db) =>
  db
    .selectFrom("subscriptions")
    .select((row) => row.fn.countAll<number>().as("count"))
    .where("deleted", "is", null)
    .where((row) => row("is_subscribed", "=", row.lit(1))),
);

export const countDeletions = statement((db) =>
  db
    .selectFrom("deletions")
    .select((row) => ["status", row.fn.countAll<number>().as("count")])
    .groupBy("status"),
);

export const oldestPending = statement((db) =>
  db
    .selectFrom("deletions")
    .select((row) => row.fn.min("requested_at").as("requested_at"))
    .where("status", "=", sql.lit("PENDING" as const)),
);
