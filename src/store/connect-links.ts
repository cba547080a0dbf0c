// Statements on links that show the values of a new app.
import { sql } from "kysely";
import type { ConnectLinkTable } from "../db/schema.ts";
import { statement } from "../db/statement.ts";
import { isOver, type Lasting, lasts } from "./expiry.ts";
import { deleteAllBut, deleteRowsOf } from "./rows.ts";

export const deleteExpiredLinks = statement((db, p: Lasting) => db.deleteFrom("connect_links").where(isOver(p)));

export const deleteUserLinks = deleteRowsOf("connect_links");

/** Deletes all but the `kept` that expire last. */
export const deleteOldLinks = deleteAllBut("connect_links", sql`expires_at desc`);

/** Inserts a link; returns nothing if it is there already. */
export const insertLink = statement((db, p: Omit<ConnectLinkTable, "opened">) =>
  db
    .insertInto("connect_links")
    .values((row) => ({
      user_id: p.user_id,
      link_hash: p.link_hash,
      sealed_secret: p.sealed_secret,
      opened: row.lit(0),
      expires_at: p.expires_at,
    }))
    .onConflict((conflict) => conflict.column("link_hash").doNothing())
    .returning("link_hash"),
);

export const findLink = statement((db, p: Lasting & { link_hash: string }) =>
  db
    .selectFrom("connect_links")
    .select(["sealed_secret", "opened"])
    .where("link_hash", "=", p.link_hash)
    .where(lasts(p)),
);

/** Marks a link as opened; returns nothing if it was. */
export const openLink = statement((db, p: Lasting & { link_hash: string }) =>
  db
    .updateTable("connect_links")
    .set((row) => ({ opened: row.lit(1) }))
    .where("link_hash", "=", p.link_hash)
    .where("opened", "=", (row) => row.lit(0))
    .where(lasts(p))
    .returning("sealed_secret"),
);
