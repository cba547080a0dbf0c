// Statements on sessions of apps that were ended before they expired.
import { sql } from "kysely";
import type { Owner, UserTable } from "../db/schema.ts";
import { statement } from "../db/statement.ts";
import { addRows, deleteAllBut, deleteRowsOf } from "./rows.ts";
import type { findTokenById } from "./tokens.ts";

type Found = Awaited<ReturnType<typeof findTokenById>>[number];

type User = Owner & Pick<UserTable, "name" | "session_key" | "last_subscription">;

/** The token is all null if the session has none that is there. */
type Basis = User & { ended: number | null } & (Omit<Found, "user_id"> | Record<keyof Omit<Found, "user_id">, null>);

/** What a session of an app depends on: its user, whether it was ended, and its token. @param token_id empty for none */
export const findBasis = statement(
  (_, p: { public_id: string; session_hash: string; token_id: string }) =>
    sql<Basis>`select users.id as user_id, users.name, users.session_key, users.last_subscription,
        ended.expires_at as ended, tokens.id, tokens.hash, tokens.label, tokens.scope, tokens.expires_at, tokens.last_used_at, tokens.revoked_at
      from users
      left join ended_sessions as ended on ended.user_id = users.id and ended.session_hash in (${p.session_hash})
      left join tokens on tokens.id in (${p.token_id})
      where users.public_id in (${p.public_id})`,
);

export const addEndedSessions = addRows("ended_sessions", ["user_id"]);

/** Deletes all but the `kept` that expire last. None is deleted by the time: the clock may be ahead for a while. */
export const deleteOldEndedSessions = deleteAllBut("ended_sessions", sql`expires_at desc`);

/** For a new session key: no session that it signed is good any more. */
export const deleteEndedSessions = deleteRowsOf("ended_sessions");
