// Statements on the guids that subscriptions have or had.
import type { Kysely } from "kysely";
import type { Owner, Schema } from "../db/schema.ts";
import { bulkStatement } from "../db/statement.ts";
import { columnOf, saveRows } from "./rows.ts";

const ofUser = (db: Kysely<Schema>, p: Owner) =>
  db.selectFrom("guids").select(["guid", "subscription", "retired_at"]).where("user_id", "=", p.user_id);

export const findGuids = bulkStatement((db, p: Owner, rows: { guid: string }[]) =>
  ofUser(db, p).where("guid", "in", columnOf(rows, "guid")),
);

/** All guids of these subscriptions, former ones too. */
export const listGuidsOf = bulkStatement((db, p: Owner, rows: { id: number }[]) =>
  ofUser(db, p).where("subscription", "in", columnOf(rows, "id")),
);

/** Inserts guids. Those that exist get all new fields. */
export const saveGuids = saveRows("guids", ["user_id"]);
