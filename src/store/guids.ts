// Statements on the guids that subscriptions have or had.
import type { Owner } from "../db/schema.ts";
import { bulkStatement } from "../db/statement.ts";
import { columnOf, saveRows } from "./rows.ts";

export const findGuids = bulkStatement((db, p: Owner, rows: { guid: string }[]) =>
  db
    .selectFrom("guids")
    .select(["guid", "subscription", "retired_at"])
    .where("user_id", "=", p.user_id)
    .where("guid", "in", columnOf(rows, "guid")),
);

/** All guids of these subscriptions, former ones too. */
export const listGuidsOf = bulkStatement((db, p: Owner, rows: { id: number }[]) =>
  db
    .selectFrom("guids")
    .select(["guid", "subscription", "retired_at"])
    .where("user_id", "=", p.user_id)
    .where("subscription", "in", columnOf(rows, "id")),
);

/** Inserts guids. Those that exist get all new fields. */
export const saveGuids = saveRows("guids", ["user_id"]);
