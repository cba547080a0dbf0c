// Statements on the moves of episodes that are carried out in parts.
import { sql } from "kysely";
import type { Owner } from "../db/schema.ts";
import { bulkStatement, limitTo, statement } from "../db/statement.ts";
import { columnOf, deleteRowsOf, HIGHEST, insertRows, LOWEST } from "./rows.ts";

export const insertMoves = insertRows("episode_moves", ["user_id", "batch", "until", "last_episode"]);

/**
 * The URL of an episode's feed, if `episodes` and `subscriptions` are joined: the one that its subscription has now. Until
 * an episode of a merged subscription is moved, it is that of the one where all moves lead, or its own if it is to be
 * deleted.
 */
export const FEED_URL = sql<string>`coalesce(subscriptions.feed_url, case when episodes.podcast > 0 then (
  with recursive way (podcast, feed_url) as (
    select target, feed_url from episode_moves as move
    where move.user_id = episodes.user_id and move.podcast = episodes.podcast and move.feed = ''
    union
    select (
      select max(move.target) from episode_moves as move
      where move.user_id = episodes.user_id and move.podcast = way.podcast and move.feed = ''), way.feed_url
    from way where way.podcast is not null)
  select coalesce(
    max((
      select target.feed_url from subscriptions as target
      where target.user_id = episodes.user_id and target.id = way.podcast)),
    max(way.feed_url)) from way) end,
  episodes.feed_url)`;

/** What all moves of a change say. */
const CHANGE = ["user_id", "batch", "until", "last_episode"] as const;

/** The first change whose moves wait, of the next user after one. */
export const findWaiting = statement((db, p: { after: number }) =>
  db
    .selectFrom("episode_moves")
    .select(CHANGE)
    .where("user_id", ">", p.after)
    .orderBy("user_id")
    .orderBy("batch")
    .limit(sql.lit(1)),
);

/** The first change of a user whose moves wait. */
export const anyMoves = statement((db, p: Owner) =>
  db
    .selectFrom("episode_moves")
    .select(CHANGE)
    .where("user_id", "in", [p.user_id])
    .where("batch", ">=", LOWEST)
    .where("batch", "<=", HIGHEST)
    .orderBy("batch")
    .limit(sql.lit(1)),
);

/** The moves of these podcasts by one change. */
export const findMoves = bulkStatement((db, p: Owner & { batch: number }, rows: { podcast: number }[]) =>
  db
    .selectFrom("episode_moves")
    .select(["podcast", "feed", "target", "feed_url"])
    .where("user_id", "=", p.user_id)
    .where("batch", "=", p.batch)
    .where("podcast", "in", columnOf(rows, "podcast")),
);

/** The podcasts that one change moves, the first `limit`. */
export const listMoved = statement((db, p: Owner & { batch: number; limit: number }) =>
  db
    .selectFrom("episode_moves")
    .select("podcast")
    .where("user_id", "in", [p.user_id])
    .where("batch", "=", p.batch)
    .orderBy("podcast")
    .limit(limitTo(p.limit)),
);

/** Where moves that wait lead. */
export const listTargets = statement((db, p: Owner) =>
  db.selectFrom("episode_moves").select("target").distinct().where("user_id", "=", p.user_id),
);

/** Ends all moves of a user. */
export const deleteAllMoves = deleteRowsOf("episode_moves");

/** Ends the moves of one change. */
export const deleteMoves = statement((db, p: Owner & { batch: number }) =>
  db.deleteFrom("episode_moves").where("user_id", "=", p.user_id).where("batch", "=", p.batch),
);

/** Ends moves that only send episodes of these podcasts again. */
export const deleteRenewals = bulkStatement((db, p: Owner, rows: { podcast: number }[]) =>
  db
    .deleteFrom("episode_moves")
    .where("user_id", "=", p.user_id)
    .where("podcast", "in", columnOf(rows, "podcast"))
    .whereRef("target", "=", "podcast"),
);
