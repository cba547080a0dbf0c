// Statements on tokens.
import { sql } from "kysely";
import type { Owner } from "../db/schema.ts";
import { statement } from "../db/statement.ts";
import { columnsOf } from "../db/tables.ts";
import { deleteAllButOneAnd, deleteRowsOf, insertRow } from "./rows.ts";

/** Tokens of a user, revoked ones too: some apps get one at every start. */
export const MOST_TOKENS = 1000;

const found = ["id", "user_id", "hash", "label", "scope", "expires_at", "last_used_at", "revoked_at"] as const;

/** A token, and its user's clock. */
export const findToken = statement((db, p: { hash: string }) =>
  db
    .selectFrom("tokens")
    .select(found)
    .select((row) =>
      row.selectFrom("users").select("clock").whereRef("users.id", "=", "user_id").$asScalar().$notNull().as("clock"),
    )
    .where("hash", "=", p.hash),
);

export const findTokenById = statement((db, p: { id: string }) =>
  db.selectFrom("tokens").select(found).where("id", "=", p.id),
);

export const insertToken = insertRow("tokens");

/** Deletes all of the user's but this one and `kept` others: those that were not revoked and were used, or issued, last. */
export const deleteOldTokens = deleteAllButOneAnd(
  "tokens",
  sql`case when revoked_at is null then 0 else 1 end, coalesce(revoked_at, last_used_at, created_at) desc`,
);

export const listTokens = statement((db) =>
  db
    .selectFrom("tokens")
    .innerJoin("users", "users.id", "tokens.user_id")
    .select([
      "tokens.id",
      "users.name as user",
      "tokens.label",
      "tokens.scope",
      "tokens.created_at",
      "tokens.expires_at",
      "tokens.last_used_at",
      "tokens.revoked_at",
    ])
    .orderBy("users.name")
    .orderBy("tokens.created_at")
    .orderBy("tokens.id"),
);

/** All tokens of a user, revoked ones too. */
export const listUserTokens = statement((db, p: Owner) =>
  db
    .selectFrom("tokens")
    .select(columnsOf("tokens"))
    .where("user_id", "=", p.user_id)
    .orderBy("created_at")
    .orderBy("id"),
);

export const useToken = statement((db, p: { hash: string; last_used_at: number }) =>
  db.updateTable("tokens").set({ last_used_at: p.last_used_at }).where("hash", "=", p.hash),
);

/** Moves the time at which a token expires. */
export const extendToken = statement((db, p: { id: string; expires_at: number }) =>
  db.updateTable("tokens").set({ expires_at: p.expires_at }).where("id", "=", p.id),
);

/** Revokes the token. A revoked one keeps its time. */
export const revokeToken = statement((db, p: { id: string; revoked_at: number }) =>
  db
    .updateTable("tokens")
    .set((row) => ({ revoked_at: row.fn.coalesce("revoked_at", row.val(p.revoked_at)) }))
    .where("id", "=", p.id)
    .returning(["id", "user_id", "revoked_at"]),
);

export const renameToken = statement((db, p: Owner & { id: string; label: string }) =>
  db
    .updateTable("tokens")
    .set({ label: p.label })
    .where("id", "=", p.id)
    .where("user_id", "=", p.user_id)
    .where("revoked_at", "is", null)
    .returning("id"),
);

export const deleteTokens = deleteRowsOf("tokens");

export const deleteToken = statement((db, p: { id: string }) => db.deleteFrom("tokens").where("id", "=", p.id));
