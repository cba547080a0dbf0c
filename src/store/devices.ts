// Statements on devices.
import { sql } from "kysely";
import type { DeviceTable, Owner } from "../db/schema.ts";
import { statement, type ValuesOf } from "../db/statement.ts";
import { columnsOf } from "../db/tables.ts";
import { deleteAllButOneAnd, pick } from "./rows.ts";

export const listDevices = statement((db, p: Owner) =>
  db
    .selectFrom("devices")
    .select(["id", "caption", "type", "token_id", "created_at", "last_sync_at", "usual_pause"])
    .where("user_id", "=", p.user_id)
    .orderBy("id"),
);

export const listAllDevices = statement((db) =>
  db
    .selectFrom("devices")
    .innerJoin("users", "users.id", "devices.user_id")
    .select(["users.name as user", "devices.id", "caption", "type", "token_id", "devices.created_at", "last_sync_at"])
    .orderBy("users.name")
    .orderBy("devices.id"),
);

/** Milliseconds: requests that are closer are one sync. */
const ONE_SYNC = 10 * 60_000;
/** Milliseconds: twice that and a device is no longer shown at all. A longer pause is from a clock that was wrong. */
const LONGEST_PAUSE = 45 * 24 * 60 * 60_000;
// The longest pause, of which each sync forgets an eighth.
const pause = sql<number>`excluded.last_sync_at - devices.last_sync_at`;
const faded = sql<number>`coalesce(devices.usual_pause, 0) * 7 / 8`;
const nextPause = sql<number | null>`case
  when ${pause} > ${sql.lit(ONE_SYNC)} and ${pause} < ${sql.lit(LONGEST_PAUSE)} then case when ${pause} > ${faded} then ${pause} else ${faded} end
  else devices.usual_pause end`;

/** Inserts a device. One that is there gets a later `last_sync_at`, and the token of that sync. */
export const keepDevice = statement((db, p: ValuesOf<DeviceTable>) =>
  db
    .insertInto("devices")
    .values(pick(p, columnsOf("devices")))
    .onConflict((conflict) =>
      conflict.columns(["user_id", "id"]).doUpdateSet((row) => ({
        usual_pause: nextPause,
        last_sync_at: row.fn.coalesce("excluded.last_sync_at", "devices.last_sync_at"),
        token_id: row
          .case()
          .when("excluded.last_sync_at", "is", null)
          .then(row.ref("devices.token_id"))
          .else(row.ref("excluded.token_id"))
          .end(),
      })),
    )
    .returning("created_at"),
);

/** Deletes all devices but this one and the `kept` that synced, or were created, last. */
export const deleteOldDevices = deleteAllButOneAnd("devices", sql`coalesce(last_sync_at, created_at) desc`);

/** Sets what is not null. */
export const updateDevice = statement(
  (db, p: Owner & { id: string; caption: string | null; type: DeviceTable["type"] | null }) =>
    db
      .updateTable("devices")
      .set((row) => ({
        caption: row.fn.coalesce(row.val(p.caption), "caption"),
        type: row.fn.coalesce(row.val(p.type), "type"),
      }))
      .where("user_id", "=", p.user_id)
      .where("id", "=", p.id)
      .returning(["id", "caption"]),
);

/** Renames a device, if it is called as before. */
export const renameDevice = statement((db, p: Owner & { id: string; from: string; to: string }) =>
  db
    .updateTable("devices")
    .set({ caption: p.to })
    .where("user_id", "=", p.user_id)
    .where("id", "=", p.id)
    .where("caption", "=", p.from),
);

export const deleteDevice = statement((db, p: Owner & { id: string }) =>
  db.deleteFrom("devices").where("user_id", "=", p.user_id).where("id", "=", p.id).returning("id"),
);
