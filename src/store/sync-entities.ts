// Statements on what the draft of the Open Podcast API tells of subscriptions.
import { type Kysely, sql } from "kysely";
import type { Owner, Schema } from "../db/schema.ts";
import { bulkStatement, limitTo, statement } from "../db/statement.ts";
import { columnsOf } from "../db/tables.ts";
import { columnOf, HIGHEST, passes, saveRows } from "./rows.ts";

const ofUser = (db: Kysely<Schema>, p: Owner) =>
  db.selectFrom("sync_entities").select(columnsOf("sync_entities")).where("user_id", "=", p.user_id);

export const findEntities = bulkStatement((db, p: Owner, rows: { sync_id: string }[]) =>
  ofUser(db, p).where("sync_id", "in", columnOf(rows, "sync_id")),
);

/** The entities of these subscriptions, also those that became part of them. */
export const listEntitiesOf = bulkStatement((db, p: Owner, rows: { id: number }[]) =>
  ofUser(db, p).where("subscription", "in", columnOf(rows, "id")),
);

/** Entities that became part of others from `from` to `to`, on the user's clock. */
export const listLeftEntities = statement((db, p: Owner & { from: number; to: number }) =>
  ofUser(db, p).where("left_at", ">=", p.from).where("left_at", "<=", p.to).orderBy("left_at"),
);

/** Inserts entities. Those that exist get all new fields. */
export const saveEntities = saveRows("sync_entities", ["user_id"]);

/** Subscriptions in the order of their ids, after `after`; not deleted ones. @param p.all 1 for unsubscribed ones too */
export const listSubscriptionsAfter = statement((db, p: Owner & { after: number; all: number; limit: number }) =>
  db
    .selectFrom("subscriptions")
    .select(["id", "feed_url", "guid", "is_subscribed", "subscription_changed", "guid_changed", "deleted"])
    .where("user_id", "in", [p.user_id])
    .where("id", ">", p.after)
    .where("id", "<=", HIGHEST)
    .where(passes(sql`deleted is null and is_subscribed + ${p.all} > 0`))
    .orderBy("id")
    .limit(limitTo(p.limit)),
);
