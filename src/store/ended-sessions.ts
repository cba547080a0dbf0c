// Statements on sessions of apps that were ended before they expired.
import { sql } from "kysely";
import type { EndedSessionTable, Owner } from "../db/schema.ts";
import { statement, type ValuesOf } from "../db/statement.ts";

export const findEndedSession = statement((db, p: Owner & { session_hash: string }) =>
  db
    .selectFrom("ended_sessions")
    .select("expires_at")
    .where("user_id", "=", p.user_id)
    .where("session_hash", "=", p.session_hash),
);

export const insertEndedSession = statement((db, p: ValuesOf<EndedSessionTable>) =>
  db
    .insertInto("ended_sessions")
    .values({ user_id: p.user_id, session_hash: p.session_hash, expires_at: p.expires_at })
    .onConflict((conflict) => conflict.columns(["user_id", "session_hash"]).doNothing()),
);

/** Deletes what has expired, and all but the `kept` that expire last. */
export const deleteOldEndedSessions = statement((db, p: Owner & { now: number; kept: number }) =>
  db
    .deleteFrom("ended_sessions")
    .where("user_id", "=", p.user_id)
    .where((row) =>
      row.or([
        row("expires_at", "<=", p.now),
        row("session_hash", "in", (rows) =>
          rows
            .selectFrom("ended_sessions")
            .select("session_hash")
            .where("user_id", "=", p.user_id)
            .orderBy("expires_at", "desc")
            .orderBy("session_hash")
            .limit(sql.lit(1_000_000))
            .offset(p.kept),
        ),
      ]),
    ),
);

/** For a new session key: no session that it signed is good any more. */
export const deleteEndedSessions = statement((db, p: Owner) =>
  db.deleteFrom("ended_sessions").where("user_id", "=", p.user_id),
);
