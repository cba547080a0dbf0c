// Statements on the networks that users signed in from.
import { sql } from "kysely";
import type { KnownNetworkTable, Owner } from "../db/schema.ts";
import { statement, type ValuesOf } from "../db/statement.ts";

export const findKnownNetwork = statement((db, p: Owner & { network: string }) =>
  db.selectFrom("known_networks").select("seen_at").where("user_id", "=", p.user_id).where("network", "=", p.network),
);

export const keepKnownNetwork = statement((db, p: ValuesOf<KnownNetworkTable>) =>
  db
    .insertInto("known_networks")
    .values({ user_id: p.user_id, network: p.network, seen_at: p.seen_at })
    .onConflict((conflict) =>
      conflict.columns(["user_id", "network"]).doUpdateSet((row) => ({ seen_at: row.ref("excluded.seen_at") })),
    ),
);

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
            .limit(sql.lit(1_000_000))
            .offset(p.kept),
        ),
      ]),
    ),
);
