// Statements on what clients hold.
import { type Kysely, sql } from "kysely";
import type { Owner, Schema } from "../db/schema.ts";
import { bulkStatement, limitTo, statement, type Tx } from "../db/statement.ts";
import { columnOf, HIGHEST, PART, readRows, saveRows } from "./rows.ts";

const COLUMNS = ["feed", "feed_url", "other_url", "reported", "reported_at", "decided", "resend_at"] as const;

type OfClient = Owner & { client: string };

const ofClient = (db: Kysely<Schema>, p: OfClient) =>
  db.selectFrom("holdings").select(COLUMNS).where("user_id", "=", p.user_id).where("client", "=", p.client);

export const findHoldings = bulkStatement((db, p: OfClient, rows: { feed: string }[]) =>
  ofClient(db, p).where("feed", "in", columnOf(rows, "feed")),
);

/** A page of what a client holds. */
export const listHoldingsAfter = statement((db, p: OfClient & { after: string; limit: number }) =>
  db
    .selectFrom("holdings")
    .select(COLUMNS)
    .where("user_id", "in", [p.user_id])
    .where("client", "in", [p.client])
    .where("feed", ">", p.after)
    .orderBy("feed")
    .limit(limitTo(p.limit)),
);

export const listHoldings = (tx: Tx, of: OfClient) =>
  readRows(
    "",
    (after, limit) => listHoldingsAfter(tx, { ...of, after, limit }),
    ({ feed }) => feed,
  );

type ResendPlace = { resend_at: number | null; feed: string };

const listToResendAfter = statement((db, p: OfClient & ResendPlace & { limit: number }) =>
  db
    .selectFrom("holdings")
    .select(COLUMNS)
    .where("user_id", "in", [p.user_id])
    .where("client", "in", [p.client])
    .where("resend_at", "is not", null)
    .where(sql<boolean>`(resend_at, feed) > (${p.resend_at}, ${p.feed})`)
    .where("resend_at", "<=", HIGHEST)
    .orderBy("resend_at")
    .orderBy("feed")
    .limit(limitTo(p.limit)),
);

/** Holdings whose feeds are resent to the client after `start`. */
export const listToResend = (tx: Tx, { start, ...of }: OfClient & { start: number }) =>
  readRows(
    { resend_at: start + 1, feed: "" },
    (place: ResendPlace, limit) => listToResendAfter(tx, { ...of, ...place, limit }),
    ({ resend_at, feed }) => ({ resend_at, feed }),
  );

/** Inserts holdings. Those that exist get all new fields. */
export const saveHoldings = saveRows("holdings", ["user_id", "client"]);

type Copy = Owner & { from: string; to: string; after: string };

const copyPart = statement((db, p: Copy) =>
  db
    .insertInto("holdings")
    .columns(["user_id", "client", ...COLUMNS])
    .expression(
      db
        .selectFrom("holdings")
        .select((row) => ["user_id", row.cast<string>(row.val(p.to), "text").as("client"), ...COLUMNS])
        .where("user_id", "=", p.user_id)
        .where("client", "=", p.from)
        .where("feed", ">", p.after)
        .orderBy("feed")
        .limit(sql.lit(PART)),
    ),
);

/** The last of a part, in the order of their feeds; none if less is left. */
export const findEndOfPart = statement((db, p: OfClient & { after: string }) =>
  db
    .selectFrom("holdings")
    .select("feed")
    .where("user_id", "=", p.user_id)
    .where("client", "=", p.client)
    .where("feed", ">", p.after)
    .orderBy("feed")
    .limit(sql.lit(1))
    .offset(sql.lit(PART - 1)),
);

/** Gives a new client what another one holds, in parts: others get turns between them. */
export async function copyHoldings(tx: Tx, { user_id, from, to }: Omit<Copy, "after">): Promise<void> {
  for (let after: string | undefined = ""; after !== undefined; ) {
    await copyPart(tx, { user_id, from, to, after });
    const [end]: { feed: string }[] = await findEndOfPart(tx, { user_id, client: from, after });
    after = end?.feed;
  }
}

/** Deletes those up to one, in the order of their feeds. */
export const deleteHoldingsUpTo = statement((db, p: OfClient & { last: string }) =>
  db.deleteFrom("holdings").where("user_id", "=", p.user_id).where("client", "=", p.client).where("feed", "<=", p.last),
);
