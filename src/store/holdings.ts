// Statements on what clients said of feeds.
import { sql } from "kysely";
import type { HoldingTable, Owner } from "../db/schema.ts";
import { bulkStatement, statement, type Tx } from "../db/statement.ts";

const COLUMNS = ["feed", "feed_url", "replaced", "subscribed", "decided", "told_again"] as const;

type OfClient = Owner & { client: string };

export const findHoldings = bulkStatement((db, p: OfClient, rows: { feed: string }[]) =>
  db
    .selectFrom("claims")
    .select(COLUMNS)
    .where("user_id", "=", p.user_id)
    .where("client", "=", p.client)
    .where(
      "feed",
      "in",
      rows.map((row) => row.feed),
    ),
);

export const listHoldings = statement((db, p: OfClient) =>
  db.selectFrom("claims").select(COLUMNS).where("user_id", "=", p.user_id).where("client", "=", p.client),
);

/** Holdings whose feeds the client is told again after `start`. */
export const listResent = statement((db, p: OfClient & { start: number }) =>
  db
    .selectFrom("claims")
    .select(COLUMNS)
    .where("user_id", "=", p.user_id)
    .where("client", "=", p.client)
    // The literal lets the partial index serve this.
    .where("told_again", ">", sql.lit(0))
    .where("told_again", ">", p.start),
);

/** Inserts claims. Those that exist get all new fields. */
export const saveHoldings = bulkStatement((db, p: OfClient, rows: Omit<HoldingTable, "user_id" | "client">[]) =>
  db
    .insertInto("claims")
    .values(
      rows.map((row) => ({
        user_id: p.user_id,
        client: p.client,
        feed: row.feed,
        feed_url: row.feed_url,
        replaced: row.replaced,
        subscribed: row.subscribed,
        decided: row.decided,
        told_again: row.told_again,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(["user_id", "client", "feed"]).doUpdateSet((row) => ({
        feed_url: row.ref("excluded.feed_url"),
        replaced: row.ref("excluded.replaced"),
        subscribed: row.ref("excluded.subscribed"),
        decided: row.ref("excluded.decided"),
        told_again: row.ref("excluded.told_again"),
      })),
    ),
);

const keepSpelling = statement((db, p: Owner & { feed: string; feed_url: string }) =>
  db
    .insertInto("claims")
    .columns(["user_id", "client", ...COLUMNS])
    .expression(
      db
        .selectFrom("clients")
        .select((row) => [
          "user_id",
          "id",
          sql<string>`cast(${p.feed} as text)`.as("feed"),
          sql<string>`cast(${p.feed_url} as text)`.as("feed_url"),
          row.lit(null).as("replaced"),
          sql<number | null>`cast(null as integer)`.as("subscribed"),
          row.lit(0).as("decided"),
          row.lit(0).as("told_again"),
        ])
        .where("user_id", "=", p.user_id),
    )
    .onConflict((conflict) => conflict.columns(["user_id", "client", "feed"]).doNothing()),
);

/** Keeps, for all clients that said nothing of these feeds, the spelling that they may have been told. */
export async function keepSpellings(
  tx: Tx,
  owner: Owner,
  rows: readonly { feed: string; feed_url: string }[],
): Promise<void> {
  for (const row of rows) await keepSpelling(tx, { ...owner, ...row });
}
