// Statements on the change feed: a user's subscriptions in the order of their changes.
import { sql } from "kysely";
import type { Owner } from "../db/schema.ts";
import { limitTo, statement, type Tx } from "../db/statement.ts";
import { HIGHEST, readRows } from "./rows.ts";

const listFrom = statement((db, p: Owner & { from: number; limit: number }) =>
  db
    .selectFrom("subscriptions")
    .select([
      "id",
      "feed_url",
      "guid",
      "is_subscribed",
      "subscription_changed",
      "guid_changed",
      "deleted",
      "changed_at",
    ])
    .where("user_id", "in", [p.user_id])
    .where("changed_at", ">=", p.from)
    .where("changed_at", "<=", HIGHEST)
    .orderBy("changed_at")
    .limit(limitTo(p.limit)),
);

/** Subscriptions in the order of the change feed, from the timestamp `from` on. */
export const listChanged = (tx: Tx, { user_id, ...p }: Owner & { from: number; limit: number }) =>
  readRows(
    p.from,
    (from, limit) => listFrom(tx, { user_id, from, limit }),
    ({ changed_at }) => changed_at + 1,
    p.limit,
  );

/** A page of the subscriptions that changed after `after`, oldest change first. */
export const listAfter = statement((db, p: Owner & { after: number; limit: number }) =>
  db
    .selectFrom("subscriptions")
    .select(["feed_url", "is_subscribed", "subscription_changed", "deleted", "changed_at"])
    .where("user_id", "in", [p.user_id])
    .where("changed_at", ">", p.after)
    .where("changed_at", "<=", HIGHEST)
    .orderBy("changed_at")
    .limit(limitTo(p.limit)),
);

/** Subscriptions that changed after `start`, oldest change first. */
export const listChangedAfter = (tx: Tx, { user_id, start }: Owner & { start: number }) =>
  readRows(
    start,
    (after, limit) => listAfter(tx, { user_id, after, limit }),
    ({ changed_at }) => changed_at,
  );

/** One row if a subscription changed, left a feed, or is resent to the client, after `start`. */
export const findNews = statement(
  (_, p: Owner & { client: string; start: number }) =>
    sql<{ news: number }>`select 1 as news where
      exists (select 1 from subscriptions where user_id in (${p.user_id}) and changed_at > ${p.start} and changed_at <= ${HIGHEST})
      or exists (select 1 from feeds
        where user_id in (${p.user_id}) and left_at is not null and left_at > ${p.start} and left_at <= ${HIGHEST})
      or exists (select 1 from holdings where user_id in (${p.user_id}) and client in (${p.client})
        and resend_at is not null and resend_at > ${p.start} and resend_at <= ${HIGHEST})`,
);

/** How many subscriptions changed after `since`. */
export const countChanged = statement((db, p: Owner & { since: number }) =>
  db
    .selectFrom("subscriptions")
    .select((row) => row.fn.countAll<number>().as("count"))
    .where("user_id", "=", p.user_id)
    .where("changed_at", ">", p.since),
);

/** How many guids were retired after `since`, and of how many subscriptions. */
export const countRetired = statement((db, p: Owner & { since: number }) =>
  db
    .selectFrom("guids")
    .select((row) => [
      row.fn.countAll<number>().as("guids"),
      row.fn.count<number>("subscription").distinct().as("subscriptions"),
    ])
    .where("user_id", "=", p.user_id)
    .where("retired_at", ">", p.since),
);
