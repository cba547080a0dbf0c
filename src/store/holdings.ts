// Statements on what clients hold.
import type { Owner } from "../db/schema.ts";
import { bulkStatement, statement } from "../db/statement.ts";
import { columnOf, saveRows } from "./rows.ts";

const COLUMNS = ["feed", "feed_url", "other_url", "reported", "reported_at", "decided", "resend_at"] as const;

type OfClient = Owner & { client: string };

export const findHoldings = bulkStatement((db, p: OfClient, rows: { feed: string }[]) =>
  db
    .selectFrom("holdings")
    .select(COLUMNS)
    .where("user_id", "=", p.user_id)
    .where("client", "=", p.client)
    .where("feed", "in", columnOf(rows, "feed")),
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
export const saveHoldings = saveRows("holdings", ["user_id", "client"]);

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
