// Statements on the guids that subscriptions have or had.
import { sql } from "kysely";
import type { GuidTable, Owner } from "../db/schema.ts";
import { bulkStatement } from "../db/statement.ts";
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

/** Inserts guids. Those that exist get all new fields. */
export const saveGuids = saveRows("guids", ["user_id"]);
