// Statements on the last refused request of each device.
import type { Kysely } from "kysely";
import type { Owner, Schema } from "../db/schema.ts";
import { statement } from "../db/statement.ts";
import { saveRow } from "./rows.ts";

export const saveRefusal = saveRow("refusals");

/** Deletes those of devices that are gone. */
export const deleteOrphanedRefusals = statement((db, p: Owner) =>
  db
    .deleteFrom("refusals")
    .where("user_id", "=", p.user_id)
    .where("device", "!=", "")
    .where("device", "not in", (rows) => rows.selectFrom("devices").select("id").where("user_id", "=", p.user_id)),
);

const refusalsIn = (db: Kysely<Schema>) =>
  db
    .selectFrom("refusals")
    .innerJoin("users", "users.id", "refusals.user_id")
    .select(["users.name as user", "device", "refused_at", "reason", "app"]);

export const listRefusals = statement((db, p: Owner) => refusalsIn(db).where("user_id", "=", p.user_id));

export const listAllRefusals = statement((db) => refusalsIn(db).orderBy("users.name"));
