// Statements on episodes.
import { type RawBuilder, sql } from "kysely";
import type { EpisodeActionTable, EpisodeTable, FeedColumns, Owner } from "../db/schema.ts";
import { bulkStatement, limitTo, statement } from "../db/statement.ts";
import { FEED_URL } from "./episode-moves.ts";
import { bigint, columnOf, numbersOf, saveRows } from "./rows.ts";

/** What a feed says of an episode. */
type Found = Pick<EpisodeTable, "id" | "title" | "duration" | "published_at">;

/** An episode with one action on it; with none if `kind` is null. */
type EpisodeRow = Omit<EpisodeTable, "user_id" | "guid_key" | FeedColumns> &
  (
    | Omit<EpisodeActionTable, "user_id" | "episode">
    | Record<keyof Omit<EpisodeActionTable, "user_id" | "episode">, null>
  );

const WITH_ACTIONS = sql`episodes.id, episodes.podcast, episodes.feed_url, episodes.guid, episodes.url, episodes.url_key,
  action.kind, action.sent_at, action.acted_at, action.arrived_at, action.started, action.position, action.total,
  action.device, action.client`;

/** The episodes for which the condition is true of a row of `wanted`, whose columns are column1, column2 … */
function withActions(p: Owner, condition: RawBuilder<unknown>, wanted: RawBuilder<unknown>) {
  return sql<EpisodeRow>`select ${WITH_ACTIONS} from (values ${wanted}) as wanted
    cross join episodes
    left join episode_actions as action on action.user_id = episodes.user_id and action.episode = episodes.id
    where episodes.user_id in (${p.user_id}) and ${condition}`;
}

export const findEpisodesByGuid = bulkStatement((_, p: Owner, rows: { podcast: number; guid_key: number }[]) =>
  withActions(
    p,
    sql`episodes.podcast = wanted.column1 and episodes.guid_key = wanted.column2`,
    numbersOf(rows, ["podcast", "guid_key"]),
  ),
);

export const findEpisodesByUrl = bulkStatement((_, p: Owner, rows: { podcast: number; url_key: number }[]) =>
  withActions(
    p,
    sql`episodes.podcast = wanted.column1 and episodes.url_key = wanted.column2`,
    numbersOf(rows, ["podcast", "url_key"]),
  ),
);

export const findEpisode = statement(
  (_, p: Owner & { id: number }) =>
    sql<EpisodeRow & Omit<Found, "id">>`select ${WITH_ACTIONS},
        episodes.title, episodes.duration, episodes.published_at
      from episodes
      left join episode_actions as action on action.user_id = episodes.user_id and action.episode = episodes.id
      where episodes.user_id in (${p.user_id}) and episodes.id = ${p.id}`,
);

/** The URLs of these episodes' feeds. */
export const findFeedUrls = bulkStatement(
  (_, p: Owner, rows: { id: number }[]) =>
    sql<{ id: number; feed_url: string | null }>`select episodes.id, ${FEED_URL} as feed_url
      from episodes
      left join subscriptions on subscriptions.user_id = episodes.user_id and subscriptions.id = episodes.podcast
      where episodes.user_id in (${p.user_id}) and episodes.id in (${sql.join(columnOf(rows, "id"))})`,
);

/** How many episodes each of these podcasts has; at most `most` are counted. */
export const countEpisodesIn = bulkStatement(
  (_, p: Owner & { most: number }, rows: { podcast: number }[]) =>
    sql<{ podcast: number; count: number }>`select wanted.column1 as podcast, (
        select count(*) from (
          select 1 from episodes where episodes.user_id in (${p.user_id}) and episodes.podcast = wanted.column1
          limit ${limitTo(p.most)}) as counted) as count
      from (values ${numbersOf(rows, ["podcast"])}) as wanted`,
);

export const findEpisodesById = bulkStatement((_, p: Owner, rows: { id: number }[]) =>
  withActions(p, sql`episodes.id = wanted.column1`, numbersOf(rows, ["id"])),
);

/** The podcasts of the episodes with ids after `after` up to `to`, in the order of the ids, and whether these have guids. */
export const listPodcastsBetween = statement((db, p: Owner & { after: number; to: number }) =>
  db
    .selectFrom("episodes")
    .select(["id", "podcast", "guid_key"])
    .where("user_id", "in", [p.user_id])
    .where("id", ">", p.after)
    .where("id", "<=", p.to)
    .orderBy("id"),
);

/** The same of episodes of these podcasts, at most `limit`, in no order. */
export const listPodcastsIn = bulkStatement(
  (_, p: Owner & { limit: number }, rows: { podcast: number }[]) =>
    sql<Pick<EpisodeTable, "id" | "podcast" | "guid_key">>`
      select episodes.id, episodes.podcast, episodes.guid_key
      from (values ${numbersOf(rows, ["podcast"])}) as wanted
      cross join episodes
      where episodes.user_id in (${p.user_id}) and episodes.podcast = wanted.column1
      limit ${limitTo(p.limit)}`,
);

/** Episodes of these podcasts, at most `limit` rows. */
export const listEpisodesOf = bulkStatement(
  (_, p: Owner & { limit: number }, rows: { podcast: number }[]) =>
    sql<EpisodeRow>`${withActions(p, sql`episodes.podcast = wanted.column1`, numbersOf(rows, ["podcast"]))}
      limit ${limitTo(p.limit)}`,
);

/** Of each URL that `found` has the podcasts of: the only one, if there is no other. */
const onlyPodcasts = (p: Owner, found: RawBuilder<unknown>) => sql<Pick<EpisodeTable, "url" | "podcast">>`
  select episodes.url, episodes.podcast
  from (
    select asked.url_key, min(asked.podcast) as lowest, max(asked.podcast) as highest ${found} group by asked.url_key
  ) as found
  cross join episodes
  where found.lowest = found.highest and episodes.user_id in (${p.user_id})
    and episodes.podcast = found.lowest and episodes.url_key = found.url_key`;

/**
 * Of each of these URLs that one subscription alone has an episode of, that subscription: asks each for each URL. An index
 * has the answers; only the episodes that are found are read.
 */
export const findPodcastsByUrl = bulkStatement(
  (_, p: Owner, rows: { url_key: number }[]) =>
    onlyPodcasts(
      p,
      sql`from subscriptions cross join episodes as asked
        where subscriptions.user_id in (${p.user_id}) and asked.user_id in (${p.user_id})
          and asked.podcast = subscriptions.id and asked.url_key in (${sql.join(columnOf(rows, "url_key"))})`,
    ),
  16,
);

/** The same: reads the index of all that the user has once. */
export const findPodcastsOfAllByUrl = bulkStatement((_, p: Owner, rows: { url_key: number }[]) =>
  onlyPodcasts(
    p,
    sql`from episodes as asked
      where asked.user_id in (${p.user_id}) and asked.podcast > 0
        and +asked.url_key in (${sql.join(columnOf(rows, "url_key"))})`,
  ),
);

/** Inserts episodes, or replaces what is known of them. */
export const saveEpisodes = saveRows("episodes", ["user_id"], {
  kept: ["title", "duration", "published_at", "sought_at"],
});

export const deleteEpisodes = bulkStatement((db, p: Owner, rows: { id: number }[]) =>
  db.deleteFrom("episodes").where("user_id", "=", p.user_id).where("id", "in", columnOf(rows, "id")),
);

/** The ids of some episodes of a podcast. */
export const listIdsOf = statement((db, p: Owner & { podcast: number; limit: number }) =>
  db
    .selectFrom("episodes")
    .select("id")
    .where("user_id", "=", p.user_id)
    .where("podcast", "=", p.podcast)
    .limit(limitTo(p.limit)),
);

/** The episodes that have this URL or guid. Reads all that the user has. @param other the URL in its other scheme */
export const findNamed = statement((db, p: Owner & { name: string; other: string }) =>
  db
    .selectFrom("episodes")
    .select("id")
    .where("user_id", "in", [p.user_id])
    .where((row) => row.or([row("url", "in", [p.name, p.other]), row("guid", "=", p.name)])),
);

/** Episodes of a podcast that somebody listened to and whose feed was not read for them. */
export const listUnsought = statement((db, p: Owner & { podcast: number; limit: number }) =>
  db
    .selectFrom("episodes")
    .select(["id", "guid", "url"])
    .where("user_id", "in", [p.user_id])
    .where("podcast", "=", p.podcast)
    .where("sought_at", "is", null)
    .where((row) =>
      row.exists(
        row
          .selectFrom("episode_actions as action")
          .select("action.kind")
          .where("action.user_id", "in", [p.user_id])
          .whereRef("action.episode", "=", "episodes.id")
          .where("action.kind", "in", [sql.lit("play" as const), sql.lit("played" as const)]),
      ),
    )
    .limit(limitTo(p.limit)),
);

/** Sets what a feed says of episodes. */
export const saveFound = bulkStatement(
  (_, p: Owner & { sought_at: number }, rows: Found[]) =>
    sql<never>`update episodes set title = found.column2, duration = found.column3, published_at = found.column4,
        sought_at = ${bigint(p.sought_at)}
      from (values ${sql.join(
        rows.map(
          ({ id, title, duration, published_at }) =>
            sql`(${bigint(id)}, cast(${title} as text), ${bigint(duration)}, ${bigint(published_at)})`,
        ),
      )}) as found
      where episodes.user_id = ${p.user_id} and episodes.id = found.column1`,
);
