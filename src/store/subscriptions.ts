// Statements on subscriptions.
import { type Kysely, sql } from "kysely";
import type { Owner, Schema } from "../db/schema.ts";
import { bulkStatement, statement } from "../db/statement.ts";
import { columnsOf } from "../db/tables.ts";
import { columnOf, saveRows } from "./rows.ts";
import { clockOf } from "./users.ts";

const ofUser = (db: Kysely<Schema>, p: Owner) =>
  db.selectFrom("subscriptions").select(columnsOf("subscriptions")).where("user_id", "=", p.user_id);

export const findSubscriptions = bulkStatement((db, p: Owner, rows: { id: number }[]) =>
  ofUser(db, p).where("id", "in", columnOf(rows, "id")),
);

/** All subscriptions of a user, deleted ones too. */
export const listSubscriptions = statement((db, p: Owner) => ofUser(db, p).orderBy("id"));

/** What people see of a user's subscriptions that are not deleted. */
export const listPresent = statement((db, p: Owner) =>
  db
    .selectFrom("subscriptions")
    .select(["guid", "feed_url", "title", "is_subscribed"])
    .where("user_id", "=", p.user_id)
    .where("deleted", "is", null)
    .orderBy("id"),
);

/** The subscription that has, or had, a guid, and the user's clock. */
export const findByGuid = statement((db, p: Owner & { guid: string }) =>
  db
    .selectFrom("subscriptions")
    .select(["id", "feed_url", "guid", "is_subscribed", "subscription_changed", "guid_changed", "deleted", "title"])
    .select(clockOf(db, p.user_id))
    .where("user_id", "=", p.user_id)
    .where("id", "=", (guids) =>
      guids.selectFrom("guids").select("subscription").where("user_id", "=", p.user_id).where("guid", "=", p.guid),
    ),
);

/** Inserts subscriptions. Those that exist get all new fields. */
export const saveSubscriptions = saveRows("subscriptions", ["user_id"]);

export const deleteSubscriptions = bulkStatement((db, p: Owner, rows: { id: number }[]) =>
  db.deleteFrom("subscriptions").where("user_id", "=", p.user_id).where("id", "in", columnOf(rows, "id")),
);

/** Feeds that the user is subscribed to. */
export const listSubscribed = statement((db, p: Owner) =>
  db
    .selectFrom("subscriptions")
    .select(["feed_url", "title"])
    .where("user_id", "in", [p.user_id])
    .where("deleted", "is", null)
    .where("is_subscribed", "=", sql.lit(1))
    .orderBy("id"),
);

export const countSubscribed = statement((db, p: Owner) =>
  db
    .selectFrom("subscriptions")
    .select((row) => row.fn.countAll<number>().as("count"))
    .where("user_id", "=", p.user_id)
    .where("deleted", "is", null)
    .where("is_subscribed", "=", sql.lit(1)),
);
