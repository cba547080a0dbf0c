// Statements on episode actions.
import { type Kysely, sql } from "kysely";
import type { EpisodeActionTable, Owner, Schema } from "../db/schema.ts";
import { bulkStatement, limitTo, statement } from "../db/statement.ts";
import { columnsOf } from "../db/tables.ts";

export const findByEpisode = bulkStatement((db, p: Owner, rows: { episode: string }[]) =>
  db
    .selectFrom("episode_actions")
    .select(columnsOf("episode_actions"))
    .where("user_id", "=", p.user_id)
    .where(
      "episode",
      "in",
      rows.map((row) => row.episode),
    ),
);

export const findByUrl = bulkStatement((db, p: Owner, rows: { by_url: string }[]) =>
  db
    .selectFrom("episode_actions")
    .select(columnsOf("episode_actions"))
    .where("user_id", "=", p.user_id)
    .where(
      "by_url",
      "in",
      rows.map((row) => row.by_url),
    ),
);

/** `client`: whose own actions are left out; "" for none. */
type Span = Owner & { start: number; end: number; client: string };

const inSpan = (db: Kysely<Schema>, p: Span) =>
  db
    .selectFrom("episode_actions as action")
    .where("action.user_id", "in", [p.user_id])
    .where("action.arrived_at", ">", p.start)
    .where("action.arrived_at", "<=", p.end)
    .where((row) => row.or([row("action.client", "is", null), row("action.client", "!=", p.client)]));

/** Whether anything arrived. */
export const anyArrived = statement((db, p: Span) => inSpan(db, p).select("action.arrived_at").limit(sql.lit(1)));

/** What arrived after `start` up to `end`, in that order. */
export const listArrived = statement((db, p: Span & { limit: number }) =>
  inSpan(db, p).select(columnsOf("episode_actions")).orderBy("action.arrived_at").limit(limitTo(p.limit)),
);

/** The same with one action for each episode: its play, or else its latest. */
export const listArrivedEpisodes = statement((db, p: Span & { limit: number }) =>
  inSpan(db, p)
    .select(columnsOf("episode_actions"))
    .where((row) =>
      row.not(
        row.exists(
          row
            .selectFrom("episode_actions as other")
            .select("other.kind")
            .where("other.user_id", "in", [p.user_id])
            .whereRef("other.episode", "=", "action.episode")
            .whereRef("other.kind", "!=", "action.kind")
            .where("action.kind", "!=", sql.lit("play" as const))
            .where((of) =>
              of.or([
                of("other.kind", "=", sql.lit("play" as const)),
                of("other.acted_at", ">", of.ref("action.acted_at")),
                of.and([
                  of("other.acted_at", "=", of.ref("action.acted_at")),
                  of("other.arrived_at", ">", of.ref("action.arrived_at")),
                ]),
              ]),
            ),
        ),
      ),
    )
    .orderBy("action.arrived_at")
    .limit(limitTo(p.limit)),
);

/** Inserts actions, or replaces those of the same kind on the same episode. */
export const saveActions = bulkStatement((db, p: Owner, rows: Omit<EpisodeActionTable, "user_id">[]) =>
  db
    .insertInto("episode_actions")
    .values(
      rows.map((row) => ({
        user_id: p.user_id,
        episode: row.episode,
        kind: row.kind,
        by_url: row.by_url,
        feed: row.feed,
        feed_url: row.feed_url,
        episode_url: row.episode_url,
        guid: row.guid,
        sent_at: row.sent_at,
        acted_at: row.acted_at,
        arrived_at: row.arrived_at,
        started: row.started,
        position: row.position,
        total: row.total,
        device: row.device,
        client: row.client,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(["user_id", "episode", "kind"]).doUpdateSet((row) => ({
        by_url: row.ref("excluded.by_url"),
        feed: row.ref("excluded.feed"),
        feed_url: row.ref("excluded.feed_url"),
        episode_url: row.ref("excluded.episode_url"),
        guid: row.ref("excluded.guid"),
        sent_at: row.ref("excluded.sent_at"),
        acted_at: row.ref("excluded.acted_at"),
        arrived_at: row.ref("excluded.arrived_at"),
        started: row.ref("excluded.started"),
        position: row.ref("excluded.position"),
        total: row.ref("excluded.total"),
        device: row.ref("excluded.device"),
        client: row.ref("excluded.client"),
      })),
    ),
);

/** Deletes the actions of one kind on these episodes. */
export const deleteActions = bulkStatement(
  (db, p: Owner & { kind: EpisodeActionTable["kind"] }, rows: { episode: string }[]) =>
    db
      .deleteFrom("episode_actions")
      .where("user_id", "=", p.user_id)
      .where("kind", "=", p.kind)
      .where(
        "episode",
        "in",
        rows.map((row) => row.episode),
      ),
);

/** Deletes all actions in a subscription's feeds, former ones too. */
export const deleteActionsOf = statement((db, p: Owner & { subscription: number }) =>
  db
    .deleteFrom("episode_actions")
    .where("user_id", "=", p.user_id)
    .where("feed", "in", (row) =>
      row
        .selectFrom("feeds")
        .select("feeds.feed")
        .where("feeds.user_id", "=", p.user_id)
        .where("feeds.subscription", "=", p.subscription),
    ),
);
