// Statements on access and refresh tokens of the draft of the Open Podcast API.
import type { Owner } from "../db/schema.ts";
import { bulkStatement, statement } from "../db/statement.ts";
import { columnsOf } from "../db/tables.ts";
import { columnOf, insertRows } from "./rows.ts";

export const findLoginToken = statement((db, p: { token_hash: string }) =>
  db.selectFrom("login_tokens").select(columnsOf("login_tokens")).where("token_hash", "=", p.token_hash),
);

export const listFamily = statement((db, p: Owner & { family: string }) =>
  db
    .selectFrom("login_tokens")
    .select(columnsOf("login_tokens"))
    .where("user_id", "=", p.user_id)
    .where("family", "=", p.family),
);

/** The user's logins with the latest expiry of each, the latest first. */
export const listFamilies = statement((db, p: Owner) =>
  db
    .selectFrom("login_tokens")
    .select((row) => ["family", "token_id", "owns_token", row.fn.max("expires_at").as("expires_at")])
    .where("user_id", "=", p.user_id)
    .groupBy(["family", "token_id", "owns_token"])
    .orderBy("expires_at", "desc")
    .orderBy("family"),
);

export const insertLoginTokens = insertRows("login_tokens", ["user_id"]);

export const markUsed = statement((db, p: { token_hash: string }) =>
  db.updateTable("login_tokens").set({ used: 1 }).where("token_hash", "=", p.token_hash),
);

export const deleteLoginTokens = bulkStatement((db, _: Record<never, never>, rows: { token_hash: string }[]) =>
  db.deleteFrom("login_tokens").where("token_hash", "in", columnOf(rows, "token_hash")),
);

export const deleteFamily = statement((db, p: Owner & { family: string }) =>
  db.deleteFrom("login_tokens").where("user_id", "=", p.user_id).where("family", "=", p.family),
);

export const deleteExpiredLoginTokens = statement((db, p: { now: number }) =>
  db.deleteFrom("login_tokens").where("expires_at", "<=", p.now),
);
