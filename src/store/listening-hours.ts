// Statements on how long a user listened.
import { type Kysely, sql } from "kysely";
import type { Owner, Schema } from "../db/schema.ts";
import { bulkStatement, limitTo, statement } from "../db/statement.ts";
import { columnOf, HIGHEST, LOWEST, numbersOf } from "./rows.ts";

/** The length of a play, in seconds; a mark has none. */
const LENGTH = sql<number>`coalesce(plays.position - plays.started, 0)`;

type Span = { from: number; to: number };

/** Seconds listened in each span. */
export const sumSpans = bulkStatement(
  (_, p: Owner, rows: Span[]) =>
    // A subquery for each span: PostgreSQL would answer a join by reading all plays.
    sql<{ from: number; seconds: number | null }>`
      select wanted.column1 as "from", (
        select cast(sum(${LENGTH}) as bigint) from plays
        where plays.user_id in (${p.user_id}) and plays.begun_at >= wanted.column1 and plays.begun_at < wanted.column2
      ) as seconds
      from (values ${numbersOf(rows, ["from", "to"])}) as wanted`,
);

/** From a play on, in the order of their begin and id, until another one. */
type Piece = Owner & Span & { from_id: number; to_id: number };

// As rows, because many plays can have begun at one time. Of casts, SQLite would search by the first column only.
const within = (db: Kysely<Schema>, p: Piece) =>
  db
    .selectFrom("plays")
    .where("plays.user_id", "in", [p.user_id])
    .where(sql<boolean>`(plays.begun_at, plays.id) >= (${p.from}, ${p.from_id})`)
    .where(sql<boolean>`(plays.begun_at, plays.id) < (${p.to}, ${p.to_id})`)
    .where("plays.begun_at", ">=", p.from)
    .where("plays.begun_at", "<=", p.to);

/** The play that comes `skip` plays after the first one. */
export const findPlay = statement((db, p: Piece & { skip: number }) =>
  within(db, p)
    .select(["plays.begun_at", "plays.id"])
    .orderBy("plays.begun_at")
    .orderBy("plays.id")
    .limit(sql.lit(1))
    .offset(limitTo(p.skip)),
);

/** Seconds listened, by podcast, with an episode of it. `feed_url` is of a feed that is in no list. */
export const sumByPodcast = statement((db, p: Piece) =>
  within(db, p)
    .innerJoin("episodes", (join) =>
      join.onRef("episodes.user_id", "=", "plays.user_id").onRef("episodes.id", "=", "plays.episode"),
    )
    .select("episodes.podcast")
    .select(sql<number>`cast(sum(${LENGTH}) as bigint)`.as("seconds"))
    .select((row) => [row.fn.min("episodes.id").as("episode"), row.fn.min("episodes.feed_url").as("feed_url")])
    .groupBy("episodes.podcast"),
);

/** Seconds that each client said of each of these episodes. */
export const sumByEpisode = bulkStatement((db, p: Owner, rows: { episode: number }[]) =>
  db
    .selectFrom("plays")
    .select(["episode", "client"])
    .select(sql<number>`cast(sum(${LENGTH}) as bigint)`.as("seconds"))
    .where("user_id", "in", [p.user_id])
    .where("episode", "in", columnOf(rows, "episode"))
    .where("client", ">=", LOWEST)
    .where("client", "<=", HIGHEST)
    .groupBy(["episode", "client"]),
);

const findOnePlay = (direction: "asc" | "desc") =>
  statement((db, p: Owner) =>
    db
      .selectFrom("plays")
      .select("begun_at")
      .where("user_id", "in", [p.user_id])
      .where("begun_at", ">=", LOWEST)
      .where("begun_at", "<=", HIGHEST)
      .orderBy("begun_at", direction)
      .limit(sql.lit(1)),
  );

/** When the first play began. */
export const findFirstPlay = findOnePlay("asc");

/** When the last play began. */
export const findLastPlay = findOnePlay("desc");
