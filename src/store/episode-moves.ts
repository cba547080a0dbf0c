// Statements on the moves of episodes that are carried out in parts.
import { sql } from "kysely";
import type { Owner } from "../db/schema.ts";
import { bulkStatement, limitTo, statement } from "../db/statement.ts";
import { columnsOf } from "../db/tables.ts";
import { bigint, columnOf, HIGHEST, insertRows, LOWEST } from "./rows.ts";

export const insertMoves = insertRows("episode_moves", ["user_id", "batch", "until", "last_episode"]);

/**
 * The URL of an episode's feed, if `episodes` and `subscriptions` are joined: the one that its subscription has now. Until
 * an episode of a merged subscription is moved, it is that of the other one, or its own if it is to be deleted.
 */
export const FEED_URL = sql<string>`coalesce(subscriptions.feed_url, case when episodes.podcast > 0 then (
  select coalesce(max(target.feed_url), max(move.feed_url)) from episode_moves as move
  left join subscriptions as target on target.user_id = move.user_id and target.id = move.target
  where move.user_id = episodes.user_id and move.podcast = episodes.podcast and move.feed = '') end,
  episodes.feed_url)`;

/** Some users with moves that wait, and the first batch of each. */
export const listWaiting = statement((db, p: { limit: number }) =>
  db
    .selectFrom("episode_moves")
    .select("user_id")
    .select((row) => row.fn.min<number>("batch").as("batch"))
    .groupBy("user_id")
    .orderBy("user_id")
    .limit(limitTo(p.limit)),
);

/** The first moves that wait of a user. */
export const anyMoves = statement((db, p: Owner) =>
  db
    .selectFrom("episode_moves")
    .select("batch")
    .where("user_id", "in", [p.user_id])
    .where("batch", ">=", LOWEST)
    .where("batch", "<=", HIGHEST)
    .orderBy("batch")
    .limit(sql.lit(1)),
);

/** The moves of one change. */
export const listMoves = statement((db, p: Owner & { batch: number }) =>
  db
    .selectFrom("episode_moves")
    .select(columnsOf("episode_moves"))
    .where("user_id", "=", p.user_id)
    .where("batch", "=", p.batch),
);

/** Ends the moves of one change. */
export const deleteMoves = statement((db, p: Owner & { batch: number }) =>
  db.deleteFrom("episode_moves").where("user_id", "=", p.user_id).where("batch", "=", p.batch),
);

/** Has moves to subscriptions that were merged lead to those that they became part of, as if by way of them. */
export const retargetMoves = bulkStatement(
  (_, p: Owner, rows: { from: number; into: number; feed_url: string | null }[]) =>
    sql<never>`update episode_moves
      set target = wanted.column2, feed_url = coalesce(episode_moves.feed_url, wanted.column3)
      from (values ${sql.join(
        rows.map(({ from, into, feed_url }) => sql`(${bigint(from)}, ${bigint(into)}, cast(${feed_url} as text))`),
      )}) as wanted
      where episode_moves.user_id in (${p.user_id}) and episode_moves.target = wanted.column1`,
);

/** Has all deleted that was to move to a subscription, or to be sent again. */
export const deleteArriving = statement((db, p: Owner & { podcast: number }) =>
  db
    .updateTable("episode_moves")
    .set({ target: null })
    .where("user_id", "=", p.user_id)
    .where("target", "=", p.podcast),
);

/** Ends moves that only send episodes of these podcasts again. */
export const deleteRenewals = bulkStatement((db, p: Owner, rows: { podcast: number }[]) =>
  db
    .deleteFrom("episode_moves")
    .where("user_id", "=", p.user_id)
    .where("podcast", "in", columnOf(rows, "podcast"))
    .whereRef("target", "=", "podcast"),
);
