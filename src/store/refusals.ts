// Statements on the last refused request of each device.
import type { Owner, RefusalTable } from "../db/schema.ts";
import { statement, type ValuesOf } from "../db/statement.ts";

export const saveRefusal = statement((db, p: ValuesOf<RefusalTable>) =>
  db
    .insertInto("refusals")
    .values({ user_id: p.user_id, device: p.device, refused_at: p.refused_at, reason: p.reason, app: p.app })
    .onConflict((conflict) =>
      conflict.columns(["user_id", "device"]).doUpdateSet((row) => ({
        refused_at: row.ref("excluded.refused_at"),
        reason: row.ref("excluded.reason"),
        app: row.ref("excluded.app"),
      })),
    ),
);

/** Deletes those of devices that are gone. */
export const deleteOrphanedRefusals = statement((db, p: Owner) =>
  db
    .deleteFrom("refusals")
    .where("user_id", "=", p.user_id)
    .where("device", "!=", "")
    .where("device", "not in", (rows) => rows.selectFrom("devices").select("id").where("user_id", "=", p.user_id)),
);

export const listRefusals = statement((db, p: Owner) =>
  db
    .selectFrom("refusals")
    .innerJoin("users", "users.id", "refusals.user_id")
    .select(["users.name as user", "device", "refused_at", "reason", "app"])
    .where("user_id", "=", p.user_id),
);

/** Those of all users. */
export const listAllRefusals = statement((db) =>
  db
    .selectFrom("refusals")
    .innerJoin("users", "users.id", "refusals.user_id")
    .select(["users.name as user", "device", "refused_at", "reason", "app"])
    .orderBy("users.name"),
);
