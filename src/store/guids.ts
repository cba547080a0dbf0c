// Statements on the guids that subscriptions have or had.
import { sql } from "kysely";
import type { GuidTable, Owner } from "../db/schema.ts";
import { bulkStatement, limitTo, statement } from "../db/statement.ts";
import { columnOf, numbersOf, saveRows } from "./rows.ts";

type Found = Pick<GuidTable, "guid" | "subscription" | "retired_at">;

export const findGuids = bulkStatement((db, p: Owner, rows: { guid: string }[]) =>
  db
    .selectFrom("guids")
    .select(["guid", "subscription", "retired_at"])
    .where("user_id", "=", p.user_id)
    .where("guid", "in", columnOf(rows, "guid")),
);

/** The retired guids of these subscriptions. Of a list, SQLite would read all of the user's instead. */
export const listRetiredGuidsOf = bulkStatement(
  (_, p: Owner, rows: { id: number }[]) =>
    sql<Found & { retired_at: number }>`select guid, subscription, retired_at
      from (values ${numbersOf(rows, ["id"])}) as wanted
      cross join guids
      where user_id in (${p.user_id}) and subscription = wanted.column1 and retired_at is not null`,
);

/** The guids of these subscriptions that were retired after `since`, at most `limit` of each statement. */
export const listRetiredSince = bulkStatement(
  (_, p: Owner & { since: number; limit: number }, rows: { id: number }[]) =>
    sql<Pick<GuidTable, "guid" | "subscription">>`select guid, subscription
      from (values ${numbersOf(rows, ["id"])}) as wanted
      cross join guids
      where user_id in (${p.user_id}) and subscription = wanted.column1 and retired_at is not null
        and +retired_at > ${p.since}
      limit ${limitTo(p.limit)}`,
);

/** The guids of one subscription that were retired after `since`, from one of them on in their order. */
export const listRetiredFrom = statement(
  (db, p: Owner & { subscription: number; since: number; from: string; limit: number }) =>
    db
      .selectFrom("guids")
      .select("guid")
      .where("user_id", "in", [p.user_id])
      .where("subscription", "in", [p.subscription])
      .where("retired_at", "is not", null)
      .where(sql<number>`+retired_at`, ">", p.since)
      .where("guid", ">=", p.from)
      .orderBy("guid")
      .limit(limitTo(p.limit)),
);

/** Inserts guids. Those that exist get all new fields. */
export const saveGuids = saveRows("guids", ["user_id"]);
