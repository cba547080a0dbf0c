// Statements that list plays.
import { type Kysely, sql } from "kysely";
import type { Owner, PlayTable, Schema } from "../db/schema.ts";
import { bulkStatement, limitTo, statement } from "../db/statement.ts";
import { FEED_URL } from "./episode-moves.ts";
import { ACTOR, APP, actorsIn, bigint, HIGHEST, LOWEST, numbersOf, passes } from "./rows.ts";

/** A place in the list of plays: only earlier ones are read. */
type Place = Owner & { begun_at: number; id: number };
type Page = Place & { limit: number };

const ofUser = (db: Kysely<Schema>, p: Owner) => db.selectFrom("plays").where("plays.user_id", "in", [p.user_id]);

// As rows, because many plays can have begun at one time. SQLite searches by the first bound that it can, and of casts by the
// first column only; PostgreSQL would begin at a bound of `begun_at`.
const before = (db: Kysely<Schema>, p: Place) =>
  ofUser(db, p)
    .where(sql<boolean>`(plays.begun_at, plays.id) < (${p.begun_at}, ${p.id})`)
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

const FEED = FEED_URL.as("feed_url");

const ENTRY = [
  ...(["plays.id", "plays.episode", "plays.begun_at", "plays.ended_at"] as const),
  ...(["plays.started", "plays.position", "plays.total"] as const),
  ...ACTOR,
  ...(["episodes.guid", "episodes.podcast", "episodes.duration", "episodes.published_at"] as const),
  ...TEXTS,
  FEED,
] as const;

/** The begin of the play that comes `skip` plays after a place. */
export const findPlace = statement((db, p: Place & { skip: number }) =>
  before(db, p)
    .select(["plays.begun_at", "plays.id"])
    .where("plays.begun_at", ">=", LOWEST)
    .limit(sql.lit(1))
    .offset(limitTo(p.skip)),
);

type Filtered = Page & { from: number; from_id: number; podcast: number; by: string };

const filtered = (db: Kysely<Schema>, p: Filtered) =>
  withEpisodes(before(db, p))
    .where(sql<boolean>`(plays.begun_at, plays.id) >= (${p.from}, ${p.from_id})`)
    .where("plays.begun_at", ">=", p.from)
    .where(passes(sql`${bigint(p.podcast)} in (0, +episodes.podcast)`))
    .where(passes(sql`cast(${p.by} as text) = '' or cast(${p.by} as text) = ${APP}`))
    .limit(limitTo(p.limit));

/** Plays from one place in the list up to another, the latest first. `podcast` 0 is all, `by` is an app as APP has it, or empty. */
export const listPlays = statement((db, p: Filtered) => filtered(db, p).select(ENTRY));

/** What a search of the same plays looks at. */
export const listTexts = statement((db, p: Filtered) =>
  filtered(db, p).select(["plays.begun_at", "plays.id", ...TEXTS, FEED]),
);

/** The plays at these places. */
export const findEntries = bulkStatement((db, p: Owner, rows: Omit<Place, "user_id">[]) =>
  withEpisodes(ofUser(db, p))
    .select(ENTRY)
    .where(sql<boolean>`(plays.begun_at, plays.id) in (values ${numbersOf(rows, ["begun_at", "id"])})`),
);

/** The places of an episode's plays before another one, the latest first. An index has them; nothing else is read of its plays. */
export const listPlacesOfEpisode = statement((db, p: Page & { episode: number }) =>
  ofUser(db, p)
    .select(["plays.begun_at", "plays.id"])
    .where("plays.episode", "in", [p.episode])
    // With signs, these are no columns of the key, by which all that the user has would be read.
    .where(sql<boolean>`(+plays.begun_at, +plays.id) < (${bigint(p.begun_at)}, ${bigint(p.id)})`)
    .orderBy("plays.begun_at", "desc")
    .orderBy("plays.id", "desc")
    .limit(limitTo(p.limit)),
);

/**
 * The play of each episode that began last before a time; all of them if several began then. With a sign, `begun_at` is no
 * column to search by: an import can give many one time.
 * If it is not materialized, SQLite looks for the latest play once for each play of an episode. An index has the begins and
 * ids; nothing else is read of the other plays.
 */
export const findLatestPlays = bulkStatement(
  (_, p: Owner, rows: { episode: number; before: number }[]) =>
    sql<Pick<PlayTable, "episode" | "begun_at" | "ended_at" | (typeof ACTOR)[number]>>`
      with latest as materialized (
        select wanted.column1 as episode, (
          select max(last.begun_at) from plays as last
          where last.user_id in (${p.user_id}) and last.episode = wanted.column1
            and +last.begun_at < wanted.column2) as begun_at
        from (values ${numbersOf(rows, ["episode", "before"])}) as wanted)
      select plays.episode, plays.begun_at, plays.ended_at,
        plays.actor_kind, plays.actor_id, plays.actor_label, plays.actor_device
      from latest cross join plays as last cross join plays
      where last.user_id in (${p.user_id}) and last.episode = latest.episode and +last.begun_at = latest.begun_at
        and plays.user_id in (${p.user_id}) and plays.begun_at = last.begun_at and plays.id = last.id`,
);

/** Which apps reported the latest `limit` plays. */
export const listPlayers = statement((db, p: Owner & { limit: number }) =>
  actorsIn(
    db,
    db
      .selectFrom("plays")
      .select(ACTOR)
      .where("user_id", "in", [p.user_id])
      .where("begun_at", ">=", LOWEST)
      .where("begun_at", "<=", HIGHEST)
      .orderBy("begun_at", "desc")
      .limit(limitTo(p.limit)),
  ),
);
