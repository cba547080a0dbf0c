// Statements on subscriptions.
import { sql } from "kysely";
import type { Owner, SubscriptionTable } from "../db/schema.ts";
import { bulkStatement, statement } from "../db/statement.ts";
import { clockOf } from "./users.ts";

export const findSubscriptions = bulkStatement((db, p: Owner, rows: { id: number }[]) =>
  db
    .selectFrom("subscriptions")
    .selectAll()
    .where("user_id", "=", p.user_id)
    .where(
      "id",
      "in",
      rows.map((row) => row.id),
    ),
);

/** The subscription that a guid leads to, and the user's clock. */
export const findByGuid = statement((db, p: Owner & { guid: string }) =>
  db
    .selectFrom("subscriptions")
    .select(["id", "feed_url", "guid", "is_subscribed", "subscription_changed", "guid_changed", "deleted"])
    .select(clockOf(db, p.user_id))
    .where("user_id", "=", p.user_id)
    .where("id", "=", (guids) =>
      guids.selectFrom("guids").select("subscription").where("user_id", "=", p.user_id).where("guid", "=", p.guid),
    ),
);

/** Inserts subscriptions, or replaces all fields of those that are there. */
export const saveSubscriptions = bulkStatement((db, p: Owner, rows: Omit<SubscriptionTable, "user_id">[]) =>
  db
    .insertInto("subscriptions")
    .values(
      rows.map((row) => ({
        user_id: p.user_id,
        id: row.id,
        feed_url: row.feed_url,
        guid: row.guid,
        is_subscribed: row.is_subscribed,
        subscription_changed: row.subscription_changed,
        guid_changed: row.guid_changed,
        deleted: row.deleted,
        changed_at: row.changed_at,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(["user_id", "id"]).doUpdateSet((row) => ({
        feed_url: row.ref("excluded.feed_url"),
        guid: row.ref("excluded.guid"),
        is_subscribed: row.ref("excluded.is_subscribed"),
        subscription_changed: row.ref("excluded.subscription_changed"),
        guid_changed: row.ref("excluded.guid_changed"),
        deleted: row.ref("excluded.deleted"),
        changed_at: row.ref("excluded.changed_at"),
      })),
    ),
);

export const deleteSubscriptions = bulkStatement((db, p: Owner, rows: { id: number }[]) =>
  db
    .deleteFrom("subscriptions")
    .where("user_id", "=", p.user_id)
    .where(
      "id",
      "in",
      rows.map((row) => row.id),
    ),
);

/** Marks a living subscription as deleted. */
export const markDeleted = statement((db, p: Owner & { id: number; stamp: number }) =>
  db
    .updateTable("subscriptions")
    .set({ is_subscribed: 0, deleted: p.stamp, changed_at: p.stamp })
    .where("user_id", "=", p.user_id)
    .where("id", "=", p.id)
    .where("deleted", "is", null),
);

/** Moves a living subscription to the end of the change feed. */
export const touchSubscription = statement((db, p: Owner & { id: number; stamp: number }) =>
  db
    .updateTable("subscriptions")
    .set({ subscription_changed: p.stamp, changed_at: p.stamp })
    .where("user_id", "=", p.user_id)
    .where("id", "=", p.id)
    .where("deleted", "is", null),
);

/** Subscriptions in the order of the change feed, from the place `from` on. */
export const listChanged = statement((db, p: Owner & { from: number; limit: number }) =>
  db
    .selectFrom("subscriptions")
    .select([
      "id",
      "feed_url",
      "guid",
      "is_subscribed",
      "subscription_changed",
      "guid_changed",
      "deleted",
      "changed_at",
    ])
    .where("user_id", "=", p.user_id)
    .where("changed_at", ">=", p.from)
    .orderBy("changed_at")
    .limit(p.limit),
);

export const countChanged = statement((db, p: Owner & { since: number }) =>
  db
    .selectFrom("subscriptions")
    .select((row) => row.fn.countAll<number>().as("count"))
    .where("user_id", "=", p.user_id)
    .where("changed_at", ">", p.since),
);

/** The place of the item that `offset` others stand before, in a feed where some subscriptions appear more than once. */
export const findPlace = statement((db, p: Owner & { since: number; offset: number }) =>
  db
    .selectFrom("subscriptions as s")
    .leftJoin("guids as g", (join) =>
      join.onRef("g.user_id", "=", "s.user_id").onRef("g.subscription", "=", "s.id").on("g.retired_at", ">", p.since),
    )
    .select(["s.changed_at", "g.guid as retired"])
    // Not `=`: with that in a join, SQLite prepares the statement anew at each execution, which doubles its cost.
    .where("s.user_id", "in", [p.user_id])
    .where("s.changed_at", ">", p.since)
    .orderBy("s.changed_at")
    .orderBy("g.guid")
    .limit(sql.lit(1))
    .offset(p.offset),
);

/** Feed addresses of the living, subscribed ones. */
export const listSubscribed = statement((db, p: Owner) =>
  db
    .selectFrom("subscriptions")
    .select(["feed_url", "guid"])
    .where("user_id", "=", p.user_id)
    .where("deleted", "is", null)
    .where("is_subscribed", "=", sql.lit(1))
    .orderBy("id"),
);
