// Statements on links that show the values of a new app.
import type { ConnectLinkTable, Owner } from "../db/schema.ts";
import { statement } from "../db/statement.ts";
import { isOver, type Lasting, lasts } from "./expiry.ts";
import { allButFirst } from "./rows.ts";

export const deleteExpiredLinks = statement((db, p: Lasting) => db.deleteFrom("connect_links").where(isOver(p)));

export const deleteUserLinks = statement((db, p: Owner) =>
  db.deleteFrom("connect_links").where("user_id", "=", p.user_id),
);

/** Deletes all but the `kept` that expire last. */
export const deleteOldLinks = statement((db, p: Owner & { kept: number }) =>
  db
    .deleteFrom("connect_links")
    .where("user_id", "=", p.user_id)
    .where("link_hash", "in", (rows) =>
      rows
        .selectFrom("connect_links")
        .select("link_hash")
        .where("user_id", "=", p.user_id)
        .orderBy("expires_at", "desc")
        .orderBy("link_hash")
        .$call(allButFirst(p.kept)),
    ),
);

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
