// Statements on the actions on episodes.
import { type Kysely, sql } from "kysely";
import type { Owner, Schema } from "../db/schema.ts";
import { bulkStatement, limitTo, statement } from "../db/statement.ts";
import { FEED_URL } from "./episode-moves.ts";
import { bigint, columnOf, HIGHEST, LOWEST, saveRows } from "./rows.ts";

/** `client`: whose own actions are left out; -1 for none. */
type Arrivals = Owner & { start: number; end: number; client: number };

const ARRIVED = sql<number>`action.arrived_at`;

/** @param arrived the column that SQLite may search by */
const arrivedIn = (db: Kysely<Schema>, p: Arrivals, arrived = ARRIVED) =>
  db
    .selectFrom("episode_actions as action")
    .where("action.user_id", "in", [p.user_id])
    .where(arrived, ">", p.start)
    .where(arrived, "<=", p.end)
    .where((row) => row.or([row("action.client", "is", null), row("action.client", "!=", p.client)]));

/** Whether anything arrived. */
export const anyArrived = statement((db, p: Arrivals) =>
  arrivedIn(db, p).select("action.arrived_at").orderBy("action.arrived_at").limit(sql.lit(1)),
);

/** What apps are told of an action. */
const told = (db: Kysely<Schema>, p: Arrivals & { limit: number }, arrived = ARRIVED) =>
  arrivedIn(db, p, arrived)
    .innerJoin("episodes", (join) =>
      join.onRef("episodes.user_id", "=", "action.user_id").onRef("episodes.id", "=", "action.episode"),
    )
    .leftJoin("subscriptions", (join) =>
      join.onRef("subscriptions.user_id", "=", "episodes.user_id").onRef("subscriptions.id", "=", "episodes.podcast"),
    )
    .select([
      "episodes.podcast",
      "episodes.guid",
      "episodes.url as episode_url",
      "action.kind",
      "action.sent_at",
      "action.acted_at",
      "action.arrived_at",
      "action.started",
      "action.position",
      "action.total",
      "action.device",
      "action.client",
    ])
    .select(FEED_URL.as("feed_url"))
    .orderBy("action.arrived_at")
    .limit(limitTo(p.limit));

type OfPodcast = Arrivals & { limit: number; podcast: number };

// With a sign, it is no column that SQLite could search by. It would walk all that arrived:
const toldOfOne = (db: Kysely<Schema>, p: OfPodcast) =>
  told(db, p, sql<number>`+action.arrived_at`).where("episodes.podcast", "=", p.podcast);
// or sort all that the podcast has.
const toldOfLong = (db: Kysely<Schema>, p: OfPodcast) =>
  told(db, p).where(sql<number>`+episodes.podcast`, "=", p.podcast);

/** Of each episode its play, and the latest of all else that was done with it, if that came later. */
const latestOf = (actions: ReturnType<typeof told>, p: Owner) =>
  actions.where((row) =>
    row.not(
      row.exists(
        row
          .selectFrom("episode_actions as other")
          .select("other.kind")
          .where("other.user_id", "in", [p.user_id])
          .whereRef("other.episode", "=", "action.episode")
          .where("action.kind", "!=", sql.lit("play" as const))
          .where((of) =>
            of.or([
              of("other.acted_at", ">", of.ref("action.acted_at")),
              of.and([
                of("other.acted_at", "=", of.ref("action.acted_at")),
                of("other.arrived_at", ">", of.ref("action.arrived_at")),
              ]),
            ]),
          ),
      ),
    ),
  );

/** What arrived after `start` up to `end`, in that order. */
export const listArrived = statement(told);
/** The same of one podcast: reads all of its episodes. */
export const listArrivedOf = statement(toldOfOne);
/** The same: reads all that arrived in that time. */
export const listArrivedOfLong = statement(toldOfLong);
/** The latest of it. */
export const listArrivedEpisodes = statement((db, p: Arrivals & { limit: number }) => latestOf(told(db, p), p));
/** The latest of one podcast. */
export const listArrivedEpisodesOf = statement((db, p: OfPodcast) => latestOf(toldOfOne(db, p), p));
export const listArrivedEpisodesOfLong = statement((db, p: OfPodcast) => latestOf(toldOfLong(db, p), p));

/** Inserts actions, or replaces those of the same kind on the same episode. */
export const saveActions = saveRows("episode_actions", ["user_id"]);

/** Deletes all actions on these episodes. */
export const deleteActions = bulkStatement((db, p: Owner, rows: { id: number }[]) =>
  db.deleteFrom("episode_actions").where("user_id", "=", p.user_id).where("episode", "in", columnOf(rows, "id")),
);

/**
 * Gives the actions on all episodes of these podcasts timestamps after `after`, in their order. They are no device's own
 * any more: an app that replaces a feed drops its places, those that it sent too.
 */
export const renewActions = bulkStatement(
  (_, p: Owner & { after: number }, rows: { podcast: number }[]) =>
    sql<never>`update episode_actions set arrived_at = renewed.arrived_at, client = null
      from (
        select action.episode, action.kind,
          ${bigint(p.after)} + row_number() over (order by action.arrived_at) as arrived_at
        from episodes
        join episode_actions as action on action.user_id = episodes.user_id and action.episode = episodes.id
        where episodes.user_id in (${p.user_id}) and episodes.podcast in (${sql.join(rows.map((row) => row.podcast))})
      ) as renewed
      where episode_actions.user_id = ${p.user_id}
        and episode_actions.episode = renewed.episode and episode_actions.kind = renewed.kind`,
);

/** When the action arrived that comes `skip` actions before the last one that arrived before `to`. */
export const findArrival = statement((db, p: Owner & { to: number; skip: number }) =>
  db
    .selectFrom("episode_actions")
    .select("arrived_at")
    .where("user_id", "in", [p.user_id])
    .where("arrived_at", "<", p.to)
    .where("arrived_at", ">=", LOWEST)
    .orderBy("arrived_at", "desc")
    .limit(sql.lit(1))
    .offset(limitTo(p.skip)),
);

/** When the action arrived that comes `skip` actions after the first one that arrived after `after`. */
export const findLaterArrival = statement((db, p: Owner & { after: number; skip: number }) =>
  db
    .selectFrom("episode_actions")
    .select("arrived_at")
    .where("user_id", "in", [p.user_id])
    .where("arrived_at", ">", p.after)
    .where("arrived_at", "<=", HIGHEST)
    .orderBy("arrived_at")
    .limit(sql.lit(1))
    .offset(limitTo(p.skip)),
);

/**
 * Episodes that were begun and not finished, the latest first, among the actions that arrived from `from` on and before
 * `to`. Finished is as in src/domain/plays.ts, isFinished(), by the feed's length if no app sent one. The offsets keep
 * PostgreSQL from a join: it would read all actions of the user for each.
 */
export const listBegun = statement(
  (_, p: Owner & { from: number; to: number; limit: number }) =>
    sql<{
      episode: number;
      podcast: number;
      acted_at: number;
      position: number;
      total: number | null;
      device: string | null;
      guid: string | null;
      episode_url: string;
      feed_url: string;
      title: string | null;
      episode_title: string | null;
      duration: number | null;
      published_at: number | null;
    }>`select begun.episode, episodes.podcast, begun.acted_at, begun.position, begun.total, begun.device,
        episodes.guid, episodes.url as episode_url, ${FEED_URL} as feed_url,
        subscriptions.title, episodes.title as episode_title, episodes.duration, episodes.published_at
      from (
        select user_id, episode, acted_at, arrived_at, position, total, device from episode_actions as action
        where user_id in (${p.user_id}) and arrived_at >= ${p.from} and arrived_at < ${p.to} and kind = 'play'
          and position > 0
          and (total is null or (total - position > 30 and (total - position) * 20 > total))
          and not (total is null and exists (
            select 1 from episodes as known
            where known.user_id = action.user_id and known.id = action.episode
              and (known.duration - position <= 30 or (known.duration - position) * 20 <= known.duration)
            limit 1 offset 0))
          and not exists (
            select 1 from episode_actions as other
            where other.user_id = action.user_id and other.episode = action.episode
              and other.kind in ('played', 'new') and other.acted_at >= action.acted_at limit 1 offset 0)
        order by acted_at desc, arrived_at desc limit ${limitTo(p.limit)}
      ) as begun
      join episodes on episodes.user_id = begun.user_id and episodes.id = begun.episode
      left join subscriptions on subscriptions.user_id = episodes.user_id and subscriptions.id = episodes.podcast
      order by begun.acted_at desc, begun.arrived_at desc`,
);
