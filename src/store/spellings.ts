// Statements on former spellings of feeds.
import { sql } from "kysely";
import type { Owner } from "../db/schema.ts";
import { bulkStatement, statement } from "../db/statement.ts";
import { addRows, columnOf } from "./rows.ts";

export const findSpellings = bulkStatement((db, p: Owner, rows: { feed: string }[]) =>
  db
    .selectFrom("spellings")
    .select(["feed", "feed_url", "until"])
    .where("user_id", "=", p.user_id)
    .where("feed", "in", columnOf(rows, "feed")),
);

export const listSpellings = statement((db, p: Owner) =>
  db.selectFrom("spellings").select(["feed", "feed_url", "until"]).where("user_id", "=", p.user_id),
);

/** Inserts spellings that are new. */
export const saveSpellings = addRows("spellings", ["user_id"]);

/** Feed URLs of the user's subscriptions that have percent-encoded text. */
export const listEncoded = statement((db, p: Owner) =>
  db
    .selectFrom("subscriptions")
    .select("feed_url")
    .where("user_id", "=", p.user_id)
    .where(sql<boolean>`feed_url like '%!%%' escape '!'`),
);

/** The same of URLs that subscriptions left. */
export const listEncodedLeft = statement((db, p: Owner) =>
  db
    .selectFrom("feeds")
    .select(sql<string>`left_url`.as("feed_url"))
    .where("user_id", "=", p.user_id)
    .where(sql<boolean>`left_url like '%!%%' escape '!'`),
);
