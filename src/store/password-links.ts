// Statements on links by which users choose their password. A user has one at most.
import { statement } from "../db/statement.ts";
import { type Lasting, lasts } from "./expiry.ts";
import { deleteRowsOf, insertRow } from "./rows.ts";

export const deletePasswordLink = deleteRowsOf("password_links");

export const insertPasswordLink = insertRow("password_links");

export const findPasswordLink = statement((db, p: Lasting & { link_hash: string }) =>
  db
    .selectFrom("password_links")
    .innerJoin("users", "users.id", "password_links.user_id")
    .select(["users.id as user_id", "users.name", "users.password_hash"])
    .where("link_hash", "=", p.link_hash)
    .where(lasts(p)),
);

/** Deletes a link, and returns its user if it was there: of several transactions, one gets it. */
export const takePasswordLink = statement((db, p: Lasting & { link_hash: string }) =>
  db.deleteFrom("password_links").where("link_hash", "=", p.link_hash).where(lasts(p)).returning("user_id"),
);
