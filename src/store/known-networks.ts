// Statements on the networks that users signed in from.
import { sql } from "kysely";
import type { Owner } from "../db/schema.ts";
import { statement } from "../db/statement.ts";
import { deleteAllBut, saveRow } from "./rows.ts";

export const findKnownNetwork = statement((db, p: Owner & { network: string }) =>
  db.selectFrom("known_networks").select("seen_at").where("user_id", "=", p.user_id).where("network", "=", p.network),
);

export const findLastNetwork = statement((db, p: Owner & { until: number }) =>
  db
    .selectFrom("known_networks")
    .select("seen_at")
    .where("user_id", "=", p.user_id)
    .where("seen_at", "<=", p.until)
    .orderBy("seen_at", "desc")
    .limit(1),
);

export const keepKnownNetwork = saveRow("known_networks");

/** Deletes all but the `kept` that were seen last. */
export const deleteOldNetworks = deleteAllBut("known_networks", sql`seen_at desc`);

export const deleteUnseenNetworks = statement((db, p: Owner & { since: number }) =>
  db.deleteFrom("known_networks").where("user_id", "=", p.user_id).where("seen_at", "<", p.since),
);
