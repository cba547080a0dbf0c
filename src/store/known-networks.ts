// Statements on the networks that users signed in from.
import type { Owner } from "../db/schema.ts";
import { statement } from "../db/statement.ts";
import { allButFirst, saveRow } from "./rows.ts";

export const findKnownNetwork = statement((db, p: Owner & { network: string }) =>
  db.selectFrom("known_networks").select("seen_at").where("user_id", "=", p.user_id).where("network", "=", p.network),
);

export const keepKnownNetwork = saveRow("known_networks");

/** Deletes networks not seen since a time, and all but the `kept` that were seen last. */
export const deleteOldNetworks = statement((db, p: Owner & { since: number; kept: number }) =>
  db
    .deleteFrom("known_networks")
    .where("user_id", "=", p.user_id)
    .where((row) =>
      row.or([
        row("seen_at", "<", p.since),
        row("network", "in", (rows) =>
          rows
            .selectFrom("known_networks")
            .select("network")
            .where("user_id", "=", p.user_id)
            .orderBy("seen_at", "desc")
            .orderBy("network")
            .$call(allButFirst(p.kept)),
        ),
      ]),
    ),
);
