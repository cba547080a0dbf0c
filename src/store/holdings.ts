// Statements on what clients hold.
import type { HoldingTable, Owner } from "../db/schema.ts";
import { bulkStatement, statement } from "../db/statement.ts";

const COLUMNS = ["feed", "feed_url", "other_url", "reported", "reported_at", "decided", "resend_at"] as const;

type OfClient = Owner & { client: string };

export const findHoldings = bulkStatement((db, p: OfClient, rows: { feed: string }[]) =>
  db
    .selectFrom("holdings")
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
  db.selectFrom("holdings").select(COLUMNS).where("user_id", "=", p.user_id).where("client", "=", p.client),
);

/** Holdings whose feeds are resent to the client after `start`. */
export const listToResend = statement((db, p: OfClient & { start: number }) =>
  db
    .selectFrom("holdings")
    .select(COLUMNS)
    .where("user_id", "=", p.user_id)
    .where("client", "=", p.client)
    .where("resend_at", "is not", null)
    .where("resend_at", ">", p.start),
);

/** Inserts holdings. Those that exist get all new fields. */
export const saveHoldings = bulkStatement((db, p: OfClient, rows: Omit<HoldingTable, "user_id" | "client">[]) =>
  db
    .insertInto("holdings")
    .values(
      rows.map((row) => ({
        user_id: p.user_id,
        client: p.client,
        feed: row.feed,
        feed_url: row.feed_url,
        other_url: row.other_url,
        reported: row.reported,
        reported_at: row.reported_at,
        decided: row.decided,
        resend_at: row.resend_at,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(["user_id", "client", "feed"]).doUpdateSet((row) => ({
        feed_url: row.ref("excluded.feed_url"),
        other_url: row.ref("excluded.other_url"),
        reported: row.ref("excluded.reported"),
        reported_at: row.ref("excluded.reported_at"),
        decided: row.ref("excluded.decided"),
        resend_at: row.ref("excluded.resend_at"),
      })),
    ),
);

/** Gives a new client what another one holds. */
export const copyHoldings = statement((db, p: Owner & { from: string; to: string }) =>
  db
    .insertInto("holdings")
    .columns(["user_id", "client", ...COLUMNS])
    .expression(
      db
        .selectFrom("holdings")
        .select((row) => ["user_id", row.cast<string>(row.val(p.to), "text").as("client"), ...COLUMNS])
        .where("user_id", "=", p.user_id)
        .where("client", "=", p.from),
    ),
);
