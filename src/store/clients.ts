// Statements on clients: apps that sync in whole seconds.
import { sql } from "kysely";
import type { ClientTable, Owner } from "../db/schema.ts";
import { bulkStatement, statement, type ValuesOf } from "../db/statement.ts";
import { columnsOf } from "../db/tables.ts";

export const findClient = statement((db, p: Owner & { id: string }) =>
  db.selectFrom("clients").select(columnsOf("clients")).where("user_id", "=", p.user_id).where("id", "=", p.id),
);

/** What the user's apps call themselves, and the token of each. */
export const listProducts = statement((db, p: Owner) =>
  db
    .selectFrom("clients")
    .select(["token_id", "product"])
    .where("user_id", "=", p.user_id)
    .where("product", "is not", null)
    .orderBy("product"),
);

/** Inserts a client, or replaces its positions. */
export const saveClient = statement((db, p: ValuesOf<ClientTable>) =>
  db
    .insertInto("clients")
    .values({
      user_id: p.user_id,
      id: p.id,
      token_id: p.token_id,
      device: p.device,
      product: p.product,
      seen_at: p.seen_at,
      feeds_since: p.feeds_since,
      feeds_start: p.feeds_start,
      feeds_given: p.feeds_given,
      episodes_since: p.episodes_since,
      episodes_start: p.episodes_start,
      episodes_given: p.episodes_given,
    })
    .onConflict((conflict) =>
      conflict.columns(["user_id", "id"]).doUpdateSet((row) => ({
        seen_at: row.ref("excluded.seen_at"),
        feeds_since: row.ref("excluded.feeds_since"),
        feeds_start: row.ref("excluded.feeds_start"),
        feeds_given: row.ref("excluded.feeds_given"),
        episodes_since: row.ref("excluded.episodes_since"),
        episodes_start: row.ref("excluded.episodes_start"),
        episodes_given: row.ref("excluded.episodes_given"),
      })),
    ),
);

export const deleteClientsOf = statement((db, p: Owner & { device: string }) =>
  db.deleteFrom("clients").where("user_id", "=", p.user_id).where("device", "=", p.device),
);

/** The tokens by which clients synced. */
export const listClientTokens = statement((db, p: Owner) =>
  db
    .selectFrom("clients")
    .select("token_id")
    .distinct()
    .where("user_id", "=", p.user_id)
    .where("token_id", "is not", null),
);

export const deleteClientsByToken = bulkStatement((db, p: Owner, rows: { token_id: string }[]) =>
  db
    .deleteFrom("clients")
    .where("user_id", "=", p.user_id)
    .where(
      "token_id",
      "in",
      rows.map((row) => row.token_id),
    )
    .returning("id"),
);

/** Deletes all but the `kept` clients that were seen last. */
export const deleteOldClients = statement((db, p: Owner & { kept: number }) =>
  db
    .deleteFrom("clients")
    .where("user_id", "=", p.user_id)
    .where("id", "in", (rows) =>
      rows
        .selectFrom("clients")
        .select("id")
        .where("user_id", "=", p.user_id)
        .orderBy("seen_at", "desc")
        .orderBy("id")
        .limit(sql.lit(1_000_000))
        .offset(p.kept),
    ),
);
