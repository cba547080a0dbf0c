// Statements on subscriptions.
import { type Kysely, sql } from "kysely";
import type { Owner, Schema } from "../db/schema.ts";
import { bulkStatement, limitTo, statement, type Tx } from "../db/statement.ts";
import { columnsOf } from "../db/tables.ts";
import { columnOf, HIGHEST, passes, readRows, saveRows } from "./rows.ts";
import { clockColumn } from "./users.ts";

export const findSubscriptions = bulkStatement((db, p: Owner, rows: { id: number }[]) =>
  db
    .selectFrom("subscriptions")
    .select(columnsOf("subscriptions"))
    .where("user_id", "=", p.user_id)
    .where("id", "in", columnOf(rows, "id")),
);

type Page = Owner & { after: number; limit: number };

const pageOf = (db: Kysely<Schema>, p: Page) =>
  db
    .selectFrom("subscriptions")
    .where("user_id", "in", [p.user_id])
    .where("id", ">", p.after)
    .where("id", "<=", HIGHEST)
    .orderBy("id")
    .limit(limitTo(p.limit));

/** Makes a function that lists all subscriptions of pages. @param list lists those of a page */
const listAll =
  <Row extends { id: number }>(list: (tx: Tx, page: Page) => Promise<Row[]>) =>
  (tx: Tx, { user_id }: Owner) =>
    readRows(
      0,
      (after, limit) => list(tx, { user_id, after, limit }),
      ({ id }) => id,
    );

/** All subscriptions of a user, deleted ones too. */
export const listSubscriptions = listAll(statement((db, p: Page) => pageOf(db, p).select(columnsOf("subscriptions"))));

/** What people see of a user's subscriptions that are not deleted. */
export const listPresent = listAll(
  statement((db, p: Page) =>
    pageOf(db, p).select(["id", "guid", "feed_url", "title", "is_subscribed"]).where(passes(sql`deleted is null`)),
  ),
);

/** The subscription that has, or had, a guid, and the user's clock. */
export const findByGuid = statement((db, p: Owner & { guid: string }) =>
  db
    .selectFrom("subscriptions")
    .select(["id", "feed_url", "guid", "is_subscribed", "subscription_changed", "guid_changed", "deleted", "title"])
    .select(clockColumn(db, p.user_id))
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
export const listSubscribed = listAll(
  statement((db, p: Page) =>
    pageOf(db, p).select(["id", "feed_url", "title"]).where(passes(sql`deleted is null and is_subscribed = 1`)),
  ),
);

const listStates = listAll(statement((db, p: Page) => pageOf(db, p).select(["id", "is_subscribed", "deleted"])));

/** How many feeds the user is subscribed to. */
export async function countSubscribed(tx: Tx, owner: Owner): Promise<number> {
  const states = await listStates(tx, owner);
  return states.filter(({ is_subscribed, deleted }) => is_subscribed === 1 && deleted === null).length;
}
