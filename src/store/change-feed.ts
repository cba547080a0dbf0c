// Statements on the change feed: a user's subscriptions in the order of their changes.
import { sql } from "kysely";
import type { Owner } from "../db/schema.ts";
import { limitTo, statement, type Tx } from "../db/statement.ts";
import { joinPages, PAGE, readPages } from "./rows.ts";

/** Subscriptions in the order of the change feed, from the timestamp `from` on. */
export const listChanged = statement((db, p: Owner & { from: number; limit: number }) =>
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
    .orderBy("changed_at")
    .limit(limitTo(p.limit)),
);

const listAfter = statement((db, p: Owner & { after: number; limit: number }) =>
  db
    .selectFrom("subscriptions")
    .select(["feed_url", "is_subscribed", "subscription_changed", "deleted", "changed_at"])
    .where("user_id", "in", [p.user_id])
    .where("changed_at", ">", p.after)
    .orderBy("changed_at")
    .limit(limitTo(p.limit)),
);

/** Subscriptions that changed after `start`, oldest change first. */
export const listChangedAfter = (tx: Tx, { user_id, start }: Owner & { start: number }) =>
  joinPages(
    readPages(
      start,
      (after) => listAfter(tx, { user_id, after, limit: PAGE }),
      ({ changed_at }) => changed_at,
    ),
  );

/** One row if a subscription changed, left a feed, or is resent to the client, after `start`. */
export const findNews = statement(
  (_, p: Owner & { client: string; start: number }) =>
    sql<{ news: number }>`select 1 as news where
      exists (select 1 from subscriptions where user_id in (${p.user_id}) and changed_at > ${p.start})
      or exists (select 1 from feeds
        where user_id in (${p.user_id}) and left_at is not null and left_at > ${p.start})
      or exists (select 1 from holdings where user_id in (${p.user_id}) and client in (${p.client})
        and resend_at is not null and resend_at > ${p.start})`,
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

/** The position of the item after `offset` others, in a feed that has a subscription once for each retired guid. */
export const findItemAt = statement((db, p: Owner & { since: number; offset: number }) =>
  db
    .selectFrom("subscriptions as s")
    .leftJoin("guids as g", (join) =>
      join.onRef("g.user_id", "=", "s.user_id").onRef("g.subscription", "=", "s.id").on("g.retired_at", ">", p.since),
    )
    .select((row) => ["s.changed_at", row.fn.coalesce("g.guid", "s.guid").as("guid")])
    .where("s.user_id", "in", [p.user_id])
    .where("s.changed_at", ">", p.since)
    .orderBy("s.changed_at")
    .orderBy("g.guid")
    .limit(sql.lit(1))
    .offset(p.offset),
);
