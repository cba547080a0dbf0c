// Statements on plays.
import { type Kysely, sql } from "kysely";
import type { Owner, PlayTable, Schema } from "../db/schema.ts";
import { bulkStatement, limitTo, statement } from "../db/statement.ts";

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
      where plays.user_id = ${p.user_id} and plays.episode = wanted.column1 and plays.client = wanted.column2
        and plays.begun_at = (
          select max(earlier.begun_at) from plays as earlier
          where earlier.user_id = ${p.user_id} and earlier.episode = wanted.column1
            and earlier.client = wanted.column2 and earlier.begun_at <= wanted.column3)`,
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

type Page = Owner & { begun_at: number; id: number; limit: number };

const withEpisodes = (db: Kysely<Schema>, p: Page) =>
  db
    .selectFrom("plays")
    .innerJoin("episodes", (join) =>
      join.onRef("episodes.user_id", "=", "plays.user_id").onRef("episodes.id", "=", "plays.episode"),
    )
    .leftJoin("subscriptions", (join) =>
      join.onRef("subscriptions.user_id", "=", "episodes.user_id").onRef("subscriptions.id", "=", "episodes.podcast"),
    )
    .select([
      "plays.id",
      "plays.episode",
      "plays.begun_at",
      "plays.ended_at",
      "plays.started",
      "plays.position",
      "plays.total",
      "plays.arrived_at",
      "plays.actor_kind",
      "plays.actor_id",
      "plays.actor_label",
      "plays.actor_device",
      "episodes.guid",
      "episodes.url as episode_url",
      "episodes.podcast",
      "subscriptions.title",
    ])
    .select((row) => row.fn.coalesce("subscriptions.feed_url", "episodes.feed_url").$notNull().as("feed_url"))
    .where("plays.user_id", "in", [p.user_id])
    .where("plays.begun_at", "<=", p.begun_at)
    .where((row) => row.or([row("plays.begun_at", "<", p.begun_at), row("plays.id", "<", p.id)]))
    .orderBy("plays.begun_at", "desc")
    .orderBy("plays.id", "desc")
    .limit(limitTo(p.limit));

/** Plays before a place in the list, the latest first. */
export const listPlays = statement((db, p: Page) => withEpisodes(db, p));

/** The same of one podcast. */
export const listPlaysOf = statement((db, p: Page & { podcast: number }) =>
  withEpisodes(db, p).where("episodes.podcast", "=", p.podcast),
);

/** The same of one episode. */
export const listPlaysOfEpisode = statement((db, p: Page & { episode: number }) =>
  withEpisodes(db, p).where("plays.episode", "=", p.episode),
);
