// Statements on deletions.
import { type Kysely, sql } from "kysely";
import type { ActorColumns, Nullable, Owner, Schema } from "../db/schema.ts";
import { bulkStatement, statement } from "../db/statement.ts";
import { columnsOf } from "../db/tables.ts";
import { ACTOR, columnOf, deleteRowsOf, insertRow } from "./rows.ts";
import { clockColumn } from "./users.ts";

// A literal in the SQL, because the partial indexes on pending deletions need it.
const PENDING = sql.lit("PENDING" as const);

/** Who asked for a deletion; nulls for deletions older than the history. */
export type Requester = Nullable<ActorColumns>;

export const insertDeletion = insertRow("deletions");
export const deleteDeletions = deleteRowsOf("deletions");

/** A deletion, and the user's clock. */
export const findDeletion = statement((db, p: Owner & { id: number }) =>
  db
    .selectFrom("deletions")
    .select(columnsOf("deletions"))
    .select(clockColumn(db, p.user_id))
    .where("user_id", "=", p.user_id)
    .where("id", "=", p.id),
);

export const findPending = bulkStatement((db, p: Owner, rows: { subscription: number }[]) =>
  db
    .selectFrom("deletions")
    .select(["id", "subscription"])
    .where("user_id", "=", p.user_id)
    .where("status", "=", PENDING)
    .where("subscription", "in", columnOf(rows, "subscription")),
);

export const cancelDeletions = bulkStatement((db, p: Owner & { finished_at: number }, rows: { id: number }[]) =>
  db
    .updateTable("deletions")
    .set({ status: "FAILURE", cancelled: 1, finished_at: p.finished_at })
    .where("user_id", "=", p.user_id)
    .where("status", "=", PENDING)
    .where("id", "in", columnOf(rows, "id")),
);

/**
 * Pending deletions that are due, that were never tried, or whose time is farther ahead than any pause, because the
 * clock was wrong.
 */
export const listDueDeletions = statement((db, p: { now: number; horizon: number; limit: number }) =>
  db
    .selectFrom("deletions")
    .innerJoin("users", "users.id", "deletions.user_id")
    .select(["deletions.user_id", "deletions.id", "attempts", "users.name as user"])
    .where("status", "=", PENDING)
    .where((row) =>
      row.or([row("run_after", "<=", p.now), row("run_after", ">", p.horizon), row("attempts", "=", sql.lit(0))]),
    )
    .orderBy("run_after")
    .limit(p.limit),
);

export const nextDue = statement((db) =>
  db.selectFrom("deletions").select("run_after").where("status", "=", PENDING).orderBy("run_after").limit(1),
);

/** Counts an attempt. Returns the deletion only to the first caller that counts this one. */
export const countAttempt = statement((db, p: Owner & { id: number; attempts: number; run_after: number }) =>
  db
    .updateTable("deletions")
    .set((row) => ({ attempts: row("attempts", "+", 1), run_after: p.run_after }))
    .where("user_id", "=", p.user_id)
    .where("id", "=", p.id)
    .where("status", "=", PENDING)
    .where("attempts", "=", p.attempts)
    .returning("id"),
);

/** Ends a pending deletion. Returns it only to the caller that ended it. */
export const finishDeletion = statement(
  (db, p: Owner & { id: number; status: "SUCCESS" | "FAILURE"; message: string | null; finished_at: number }) =>
    db
      .updateTable("deletions")
      .set({ status: p.status, message: p.message, finished_at: p.finished_at })
      .where("user_id", "=", p.user_id)
      .where("id", "=", p.id)
      .where("status", "=", PENDING)
      .returning(["subscription", ...ACTOR]),
);

export const noteFailure = statement((db, p: Owner & { id: number; message: string }) =>
  db
    .updateTable("deletions")
    .set({ message: p.message })
    .where("user_id", "=", p.user_id)
    .where("id", "=", p.id)
    .where("status", "=", PENDING),
);

export const retryDeletion = statement((db, p: Owner & { id: number; run_after: number }) =>
  db
    .updateTable("deletions")
    .set({ status: PENDING, attempts: 0, message: null, run_after: p.run_after, finished_at: null })
    .where("user_id", "=", p.user_id)
    .where("id", "=", p.id),
);

const withDetails = (db: Kysely<Schema>) =>
  db
    .selectFrom("deletions")
    .innerJoin("users", "users.id", "deletions.user_id")
    .leftJoin("subscriptions", (join) =>
      join
        .onRef("subscriptions.user_id", "=", "deletions.user_id")
        .onRef("subscriptions.id", "=", "deletions.subscription"),
    )
    .select(columnsOf("deletions").map((column) => `deletions.${column}` as const))
    .select(["users.name as user", "subscriptions.guid"]);

/** A deletion with its user's name and its subscription's guid. */
export const showDeletion = statement((db, p: Owner & { id: number }) =>
  withDetails(db).where("deletions.user_id", "=", p.user_id).where("deletions.id", "=", p.id),
);

/** All users' deletions, oldest first for each user. */
export const listDeletions = statement((db) => withDetails(db).orderBy("users.name").orderBy("deletions.id"));
