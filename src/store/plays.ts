// Statements on plays.
import { sql } from "kysely";
import type { Owner, PlayTable } from "../db/schema.ts";
import { bulkStatement, limitTo, statement } from "../db/statement.ts";
import { columnOf, numbersOf, saveRows } from "./rows.ts";

/** Of each client and episode, the latest play that began no later than `at`. */
export const findPlays = bulkStatement(
  (_, p: Owner, rows: { episode: number; client: number; at: number }[]) =>
    sql<Omit<PlayTable, "user_id">>`select plays.id, plays.episode, plays.client, plays.begun_at, plays.ended_at,
        plays.started, plays.position, plays.total, plays.arrived_at, plays.ended_ahead,
        plays.actor_kind, plays.actor_id, plays.actor_label, plays.actor_device
      from (values ${numbersOf(rows, ["episode", "client", "at"])}) as wanted
      cross join plays
      where plays.user_id in (${p.user_id}) and plays.episode = wanted.column1 and plays.client = wanted.column2
        and plays.begun_at = (
          select max(earlier.begun_at) from plays as earlier
          where earlier.user_id in (${p.user_id}) and earlier.episode = wanted.column1
            and earlier.client = wanted.column2 and earlier.begun_at <= wanted.column3)`,
);

/**
 * The plays of some episodes that began at some times: of those of one time, which can be very many, few are returned. One
 * can come more than once.
 */
export const findPlaysBegun = bulkStatement((db, p: Owner, rows: Pick<PlayTable, "episode" | "begun_at">[]) =>
  db
    .selectFrom("plays")
    .select(["id", "episode", "client", "begun_at", "ended_at", "started", "position"])
    .where("user_id", "in", [p.user_id])
    .where("begun_at", "in", columnOf(rows, "begun_at"))
    .where("episode", "in", columnOf(rows, "episode")),
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
  ended_ahead: number | null;
};

const EXTENSION: (keyof Extension)[] = [
  "episode",
  "client",
  "from",
  "from_position",
  "ended_at",
  "position",
  "total",
  "ended_ahead",
];

/** Makes plays longer that are the latest of their client and episode. @returns the episodes of those that were found */
export const extendPlays = bulkStatement(
  (_, p: Owner, rows: Extension[]) =>
    sql<{ episode: number }>`update plays set ended_at = wanted.column5, position = wanted.column6,
        total = coalesce(wanted.column7, plays.total),
        ended_ahead = coalesce(wanted.column8, plays.ended_ahead)
      from (values ${numbersOf(rows, EXTENSION)}) as wanted
      where plays.user_id in (${p.user_id}) and plays.episode = wanted.column1 and plays.client = wanted.column2
        and plays.ended_at = wanted.column3 and plays.position = wanted.column4
        and not exists (select 1 from plays as later where later.user_id in (${p.user_id})
          and later.episode = wanted.column1 and later.client = wanted.column2 and later.begun_at > plays.begun_at)
      returning plays.episode`,
);

/** Inserts plays, or makes those that exist longer. */
export const savePlays = saveRows("plays", ["user_id"], { fixed: ["episode", "client"] });

/** Gives the plays at these places to episodes. */
export const movePlaysAt = bulkStatement(
  (_, p: Owner, rows: (Pick<PlayTable, "begun_at" | "id"> & { into: number })[]) =>
    sql<never>`update plays set episode = wanted.column3
      from (values ${numbersOf(rows, ["begun_at", "id", "into"])}) as wanted
      where plays.user_id in (${p.user_id}) and plays.begun_at = wanted.column1 and plays.id = wanted.column2`,
);

export const deletePlays = bulkStatement((db, p: Owner, rows: { id: number }[]) =>
  db.deleteFrom("plays").where("user_id", "=", p.user_id).where("episode", "in", columnOf(rows, "id")),
);

/** The places of plays of these episodes, at most `limit` of each statement. An index has them. */
export const listPlacesOf = bulkStatement((db, p: Owner & { limit: number }, rows: { id: number }[]) =>
  db
    .selectFrom("plays")
    .select(["episode", "begun_at", "id"])
    .where("user_id", "in", [p.user_id])
    .where("episode", "in", columnOf(rows, "id"))
    .limit(limitTo(p.limit)),
);

/** Deletes the plays at these places. Of a list of them, SQLite would read all plays that began at their times. */
export const deletePlaysAt = bulkStatement((db, p: Owner, rows: Pick<PlayTable, "begun_at" | "id">[]) =>
  db
    .deleteFrom("plays")
    .where((row) =>
      row.or(
        rows.map(({ begun_at, id }) =>
          row.and([row("user_id", "=", p.user_id), row("begun_at", "=", begun_at), row("id", "=", id)]),
        ),
      ),
    ),
);

/** Deletes the plays before one of them, in the order of their begin and id. */
export const prunePlays = statement((db, p: Owner & { to: number; to_id: number }) =>
  db
    .deleteFrom("plays")
    .where("user_id", "=", p.user_id)
    .where(sql<boolean>`(begun_at, id) < (${p.to}, ${p.to_id})`)
    .returning("id"),
);
