// Statements on plays.
import { type Kysely, sql } from "kysely";
import type { Owner, PlayTable, Schema } from "../db/schema.ts";
import { bulkStatement, limitTo, statement } from "../db/statement.ts";

const ACTOR = ["actor_kind", "actor_id", "actor_label", "actor_device"] as const;

const number = (value: number) => sql`cast(${value} as bigint)`;

/** Of each client and episode, the latest play that began no later than `at`. */
export const findPlays = bulkStatement(
  (_, p: Owner, rows: { episode: number; client: number; at: number }[]) =>
    sql<Omit<PlayTable, "user_id">>`select plays.id, plays.episode, plays.client, plays.begun_at, plays.ended_at,
        plays.started, plays.position, plays.total, plays.arrived_at,
        plays.actor_kind, plays.actor_id, plays.actor_label, plays.actor_device
      from (values ${sql.join(rows.map((row) => sql`(${number(row.episode)}, ${number(row.client)}, ${number(row.at)})`))})
        as wanted
      cross join plays
      where plays.user_id in (${p.user_id}) and plays.episode = wanted.column1 and plays.client = wanted.column2
        and plays.begun_at = (
          select max(earlier.begun_at) from plays as earlier
          where earlier.user_id in (${p.user_id}) and earlier.episode = wanted.column1
            and earlier.client = wanted.column2 and earlier.begun_at <= wanted.column3)`,
);

type Extension = {
  episode: number;
  client: number;
  /** When the play ended, and where, until now. */
  from: number;
  from_position: number | null;
  ended_at: number;
  position: number | null;
  total: number | null;
};

/** Makes plays longer that are the latest of their client and episode. @returns the episodes of those that were found */
export const extendPlays = bulkStatement(
  (_, p: Owner, rows: Extension[]) =>
    sql<{ episode: number }>`update plays set ended_at = wanted.column5, position = wanted.column6,
        total = coalesce(wanted.column7, plays.total)
      from (values ${sql.join(
        rows.map(
          (row) => sql`(${number(row.episode)}, ${number(row.client)}, ${number(row.from)},
            cast(${row.from_position} as bigint), ${number(row.ended_at)}, cast(${row.position} as bigint),
            cast(${row.total} as bigint))`,
        ),
      )}) as wanted
      where plays.user_id in (${p.user_id}) and plays.episode = wanted.column1 and plays.client = wanted.column2
        and plays.ended_at = wanted.column3 and plays.position = wanted.column4
        and not exists (select 1 from plays as later where later.user_id in (${p.user_id})
          and later.episode = wanted.column1 and later.client = wanted.column2 and later.begun_at > plays.begun_at)
      returning plays.episode`,
);

/** Inserts plays, or makes those that exist longer. */
export const savePlays = bulkStatement((db, p: Owner, rows: Omit<PlayTable, "user_id">[]) =>
  db
    .insertInto("plays")
    .values(
      rows.map((row) => ({
        user_id: p.user_id,
        id: row.id,
        episode: row.episode,
        client: row.client,
        begun_at: row.begun_at,
        ended_at: row.ended_at,
        started: row.started,
        position: row.position,
        total: row.total,
        arrived_at: row.arrived_at,
        actor_kind: row.actor_kind,
        actor_id: row.actor_id,
        actor_label: row.actor_label,
        actor_device: row.actor_device,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(["user_id", "begun_at", "id"]).doUpdateSet((row) => ({
        ended_at: row.ref("excluded.ended_at"),
        position: row.ref("excluded.position"),
        total: row.ref("excluded.total"),
      })),
    ),
);

/** Gives the plays of one episode to another. */
export const movePlays = statement((db, p: Owner & { from: number; into: number }) =>
  db.updateTable("plays").set({ episode: p.into }).where("user_id", "=", p.user_id).where("episode", "=", p.from),
);

/** Deletes the plays of all episodes of a podcast. */
export const deletePlaysOf = statement((db, p: Owner & { podcast: number }) =>
  db
    .deleteFrom("plays")
    .where("user_id", "=", p.user_id)
    .where("episode", "in", (row) =>
      row
        .selectFrom("episodes")
        .select("episodes.id")
        .where("episodes.user_id", "=", p.user_id)
        .where("episodes.podcast", "=", p.podcast),
    ),
);

/** Deletes some plays that began before a time, the oldest first. */
export const prunePlays = statement((db, p: Owner & { before: number; limit: number }) =>
  db
    .deleteFrom("plays")
    .where("user_id", "=", p.user_id)
    .where("begun_at", "<", p.before)
    .where("id", "in", (row) =>
      row
        .selectFrom("plays as old")
        .select("old.id")
        .where("old.user_id", "in", [p.user_id])
        .where("old.begun_at", "<", p.before)
        .orderBy("old.begun_at")
        .limit(limitTo(p.limit)),
    )
    .returning("id"),
);

/** A place in the list of plays: only earlier ones are read. */
type Place = Owner & { begun_at: number; id: number };
type Page = Place & { limit: number };

/** The length of a play, in seconds; a mark has none. */
const LENGTH = sql<number>`coalesce(plays.position - plays.started, 0)`;

const ofUser = (db: Kysely<Schema>, p: Owner) => db.selectFrom("plays").where("plays.user_id", "in", [p.user_id]);

const before = (db: Kysely<Schema>, p: Place) =>
  ofUser(db, p)
    .where("plays.begun_at", "<=", p.begun_at)
    .where((row) => row.or([row("plays.begun_at", "<", p.begun_at), row("plays.id", "<", p.id)]))
    .orderBy("plays.begun_at", "desc")
    .orderBy("plays.id", "desc");

const withEpisodes = (plays: ReturnType<typeof ofUser>) =>
  plays
    .innerJoin("episodes", (join) =>
      join.onRef("episodes.user_id", "=", "plays.user_id").onRef("episodes.id", "=", "plays.episode"),
    )
    .leftJoin("subscriptions", (join) =>
      join.onRef("subscriptions.user_id", "=", "episodes.user_id").onRef("subscriptions.id", "=", "episodes.podcast"),
    );

const TEXTS = ["episodes.url as episode_url", "episodes.title as episode_title", "subscriptions.title"] as const;
const FEED_URL = sql<string>`coalesce(subscriptions.feed_url, episodes.feed_url)`.as("feed_url");

const ENTRY = [
  ...(["plays.id", "plays.episode", "plays.begun_at", "plays.ended_at"] as const),
  ...(["plays.started", "plays.position", "plays.total"] as const),
  ...ACTOR,
  ...(["episodes.guid", "episodes.podcast", "episodes.duration", "episodes.published_at"] as const),
  ...TEXTS,
  FEED_URL,
] as const;

/** The begin of the play that comes `skip` plays after a place. */
export const findPlace = statement((db, p: Place & { skip: number }) =>
  before(db, p).select(["plays.begun_at", "plays.id"]).limit(sql.lit(1)).offset(limitTo(p.skip)),
);

type Filtered = Page & { from: number; podcast: number; by: string };

const filtered = (db: Kysely<Schema>, p: Filtered) =>
  withEpisodes(before(db, p))
    .where("plays.begun_at", ">=", p.from)
    .where(
      sql<boolean>`(${number(p.podcast)} = 0 or plays.episode in (
        select id from episodes where user_id in (${p.user_id}) and podcast = ${number(p.podcast)}))`,
    )
    .where(
      sql<boolean>`(cast(${p.by} as text) = '' or coalesce(actor_id, actor_label, actor_device) = cast(${p.by} as text))`,
    )
    .limit(limitTo(p.limit));

/** Plays from `from` up to a place in the list, the latest first. `podcast` 0 is all, `by` is an app's key or empty. */
export const listPlays = statement((db, p: Filtered) => filtered(db, p).select(ENTRY));

/** What a search of the same plays looks at. */
export const listTexts = statement((db, p: Filtered) =>
  filtered(db, p).select(["plays.begun_at", "plays.id", ...TEXTS, FEED_URL]),
);

/** The plays at these places. */
export const findEntries = bulkStatement((db, p: Owner, rows: Omit<Place, "user_id">[]) =>
  withEpisodes(ofUser(db, p))
    .select(ENTRY)
    .where(
      sql<boolean>`(plays.begun_at, plays.id) in (values ${sql.join(
        rows.map((row) => sql`(${number(row.begun_at)}, ${number(row.id)})`),
      )})`,
    ),
);

/** The plays of one episode before a place, the latest first. */
export const listPlaysOfEpisode = statement((db, p: Page & { episode: number }) =>
  withEpisodes(before(db, p)).select(ENTRY).where("plays.episode", "=", p.episode).limit(limitTo(p.limit)),
);

/** The latest play of each episode. With a sign, `begun_at` is no column to search by: an import can give many one time. */
export const findLatestPlays = bulkStatement(
  (_, p: Owner, rows: { episode: number }[]) =>
    sql<Pick<PlayTable, "episode" | "ended_at" | (typeof ACTOR)[number]>>`
      select plays.episode, plays.ended_at, actor_kind, actor_id, actor_label, actor_device
      from (values ${sql.join(rows.map((row) => sql`(${number(row.episode)})`))}) as wanted
      cross join plays
      where plays.user_id in (${p.user_id}) and plays.episode = wanted.column1 and +plays.begun_at = (
        select max(last.begun_at) from plays as last
        where last.user_id in (${p.user_id}) and last.episode = wanted.column1)`,
);

/** Which apps reported the latest `limit` plays. */
export const listPlayers = statement((db, p: Owner & { limit: number }) =>
  db
    .selectFrom((from) =>
      from
        .selectFrom("plays")
        .select(ACTOR)
        .where("user_id", "in", [p.user_id])
        .orderBy("begun_at", "desc")
        .limit(limitTo(p.limit))
        .as("latest"),
    )
    .select(ACTOR)
    .distinct()
    .orderBy("actor_label")
    .orderBy("actor_device"),
);

type Span = { from: number; to: number };

const spans = (rows: Span[]) => sql.join(rows.map((row) => sql`(${number(row.from)}, ${number(row.to)})`));

/** Seconds listened in each span. */
export const sumSpans = bulkStatement(
  (_, p: Owner, rows: Span[]) =>
    // A subquery for each span: PostgreSQL would answer a join by reading all plays.
    sql<{ from: number; seconds: number | null }>`
      select wanted.column1 as "from", (
        select cast(sum(${LENGTH}) as bigint) from plays
        where plays.user_id in (${p.user_id}) and plays.begun_at >= wanted.column1 and plays.begun_at < wanted.column2
      ) as seconds
      from (values ${spans(rows)}) as wanted`,
);

/** Seconds listened from `from` on until `to`, by podcast. `feed_url` is of a feed that is in no list. */
export const sumByPodcast = statement((db, p: Owner & Span) =>
  db
    .selectFrom("plays")
    .innerJoin("episodes", (join) =>
      join.onRef("episodes.user_id", "=", "plays.user_id").onRef("episodes.id", "=", "plays.episode"),
    )
    .select("episodes.podcast")
    .select(sql<number>`cast(sum(${LENGTH}) as bigint)`.as("seconds"))
    .select((row) => row.fn.min("episodes.feed_url").as("feed_url"))
    .where("plays.user_id", "in", [p.user_id])
    .where("plays.begun_at", ">=", p.from)
    .where("plays.begun_at", "<", p.to)
    .groupBy("episodes.podcast"),
);

/** When the first play began. */
export const findFirstPlay = statement((db, p: Owner) =>
  db.selectFrom("plays").select("begun_at").where("user_id", "in", [p.user_id]).orderBy("begun_at").limit(sql.lit(1)),
);
