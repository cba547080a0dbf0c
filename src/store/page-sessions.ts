// Statements on the web page's sessions.
import { sql } from "kysely";
import type { Owner } from "../db/schema.ts";
import { statement } from "../db/statement.ts";
import { type Lasting, lasts } from "./expiry.ts";
import { deleteAllBut, deleteRowsOf, insertRow } from "./rows.ts";

export const insertPageSession = insertRow("page_sessions");

export const findPageSession = statement((db, p: Owner & { id: string }) =>
  db.selectFrom("page_sessions").select("seen_at").where("user_id", "=", p.user_id).where("id", "=", p.id),
);

export const listPageSessions = statement((db, p: Owner & Lasting) =>
  db
    .selectFrom("page_sessions")
    .select(["id", "token_id", "browser", "created_at", "seen_at"])
    .where("user_id", "=", p.user_id)
    .where(lasts(p))
    .orderBy("seen_at", "desc")
    .orderBy("id"),
);

export const seePageSession = statement((db, p: Owner & { id: string; seen_at: number }) =>
  db.updateTable("page_sessions").set({ seen_at: p.seen_at }).where("user_id", "=", p.user_id).where("id", "=", p.id),
);

export const deletePageSession = statement((db, p: Owner & { id: string }) =>
  db.deleteFrom("page_sessions").where("user_id", "=", p.user_id).where("id", "=", p.id),
);

export const deleteExpiredPageSessions = statement((db, p: Owner & { now: number }) =>
  db.deleteFrom("page_sessions").where("user_id", "=", p.user_id).where("expires_at", "<=", p.now),
);

/** Deletes all but the `kept` sessions that were seen last. */
export const deleteOldPageSessions = deleteAllBut("page_sessions", sql`seen_at desc, created_at desc`);

export const deletePageSessions = deleteRowsOf("page_sessions");
