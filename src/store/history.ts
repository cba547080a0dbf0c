// Statements on history.
import { type ExpressionBuilder, type Kysely, type NotNull, sql } from "kysely";
import type { Database } from "../db/database.ts";
import type { HistoryTable, Owner, Schema } from "../db/schema.ts";
import { limitTo, statement, type Tx } from "../db/statement.ts";
import { columnsOf } from "../db/tables.ts";
import { ACTOR, APP, actorsIn, HIGHEST, insertRows, readPages, readRows } from "./rows.ts";

export const insertHistory = insertRows("history", ["user_id", "at", ...ACTOR]);

type PageBefore = Owner & { changed_at: number; seq: number; limit: number };

export const historyPosition = ({ changed_at, seq }: Pick<HistoryTable, "changed_at" | "seq">) => ({ changed_at, seq });

/** After all changes. */
export const HISTORY_END = { changed_at: Number.MAX_SAFE_INTEGER, seq: 0 };

const isBefore = (row: ExpressionBuilder<Schema, "history">, p: PageBefore) =>
  row.or([
    row("changed_at", "<", p.changed_at),
    row.and([row("changed_at", "=", p.changed_at), row("seq", "<", p.seq)]),
  ]);

/** A page of a user's changes before a position, newest first. */
const pageBefore = (db: Kysely<Schema>, p: PageBefore) =>
  db
    .selectFrom("history")
    .where("user_id", "in", [p.user_id])
    .where((row) => isBefore(row, p))
    // Says the same again, in the form that the index serves.
    .where("changed_at", "<=", p.changed_at)
    .orderBy("changed_at", "desc")
    .orderBy("seq", "desc")
    .limit(limitTo(p.limit));

/** Changes before a position and from a timestamp on. */
export type HistorySpan = PageBefore & { from: number };

const pageOf = (db: Kysely<Schema>, p: HistorySpan) => pageBefore(db, p).where("changed_at", ">=", p.from);

/** With the titles that the podcasts have now. */
const withTitles = (changes: ReturnType<typeof pageBefore>) =>
  changes
    .select(columnsOf("history").map((column) => `history.${column}` as const))
    .select((row) =>
      row
        .selectFrom("subscriptions")
        .select("subscriptions.title")
        .whereRef("subscriptions.user_id", "=", "history.user_id")
        .whereRef("subscriptions.id", "=", "history.subscription")
        .as("present_title"),
    );

const listPage = statement((db, p: PageBefore) => withTitles(pageBefore(db, p)));

/** A user's changes before a position, newest first, with the titles that the podcasts have now. */
export const listHistory = (tx: Tx, p: PageBefore) =>
  readRows(p, (place, limit) => listPage(tx, { ...p, ...place, limit }), historyPosition, p.limit);

/** Changes that a filter examines at a time: 1 ms, or 16 if each has the longest feed URL. */
const EXAMINED = 2000;

const findPlace = statement((db, p: PageBefore) =>
  pageBefore(db, p).select("changed_at").limit(sql.lit(1)).offset(limitTo(p.limit)),
);

/**
 * Gives the spans of a history before a position, the newest first: of many changes, one statement would keep others waiting.
 * @param start timestamp of the oldest changes in them
 */
export async function* spansBefore(
  tx: Tx,
  { user_id, changed_at, seq }: Owner & { changed_at: number; seq: number },
  start = 0,
): AsyncGenerator<HistorySpan> {
  let before: PageBefore = { user_id, changed_at, seq, limit: EXAMINED };
  for (let from = start + 1; from > start; before = { ...before, changed_at: from, seq: 0 }) {
    from = Math.max(start, (await findPlace(tx, before))[0]?.changed_at ?? 0);
    yield { ...before, from };
  }
}

type Changes = ReturnType<typeof withTitles>;

const changesIn = (db: Kysely<Schema>, p: HistorySpan) => withTitles(pageOf(db, p));

/** Those of one app. */
const by = (changes: Changes, p: { by: string }) => changes.where(APP, "=", p.by);

/** Those of one subscription. */
const of = (changes: Changes, p: { subscription: number }) =>
  changes.where((row) =>
    row.or([row("history.subscription", "in", [p.subscription]), row("merged_into", "in", [p.subscription])]),
  );

export const listHistoryBy = statement((db, p: HistorySpan & { by: string }) => by(changesIn(db, p), p));

/** Those of one token, device or label, as people name an app. */
export const listHistoryNamed = statement((db, p: HistorySpan & { named: string }) =>
  changesIn(db, p).where((row) =>
    row.or((["actor_id", "actor_device", "actor_label"] as const).map((column) => row(column, "in", [p.named]))),
  ),
);

export const listHistoryOf = statement((db, p: HistorySpan & { subscription: number }) => of(changesIn(db, p), p));

export const listHistoryOfBy = statement((db, p: HistorySpan & { subscription: number; by: string }) =>
  of(by(changesIn(db, p), p), p),
);

/** Who made the user's `limit` latest changes. */
export const listChangers = statement((db, p: Owner & { limit: number }) =>
  actorsIn(
    db,
    db
      .selectFrom("history")
      .select(ACTOR)
      .where("user_id", "in", [p.user_id])
      .orderBy("changed_at", "desc")
      .limit(p.limit),
  ),
);

/** The moves of a subscription. */
export const listMoves = statement((db, p: HistorySpan & { subscription: number }) =>
  pageOf(db, p)
    .select(["before", "actor_kind"])
    .where("subscription", "in", [p.subscription])
    .where("what", "=", "moved"),
);

/** The subscription that had a guid until a restored backup did not have it. */
export const findLost = statement((db, p: HistorySpan & { guid: string }) =>
  pageOf(db, p)
    .select(["subscription as id", "feed_url", "title"])
    .where("guid", "in", [p.guid])
    .where("what", "=", "lost")
    .$narrowType<{ id: NotNull; feed_url: NotNull }>(),
);

/** The changes that added a subscription. */
export const listAdditions = statement((db, p: HistorySpan & { subscription: number }) =>
  pageOf(db, p)
    .select(["at", ...ACTOR])
    .where("subscription", "in", [p.subscription])
    .where("what", "=", "added"),
);

/** Up to `limit` changes by which apps took podcasts off the list (isRemoval() and isApp() say the same of one). */
export const findRemovals = statement((db, p: HistorySpan) =>
  pageOf(db, p)
    .select("subscription")
    .where("what", "in", ["unsubscribed", "deleted"])
    .where("before", "in", ["subscribed"])
    .where("actor_kind", "in", ["token", "session"]),
);

/**
 * The first change that was recorded later than `at`. One that is later than `until` is from a clock that was ahead: it
 * counts as later too, unless a change after it was recorded before `at`.
 * @param from no change that was recorded later has an earlier timestamp
 */
export const firstChangeAfter = statement((db, p: Owner & { at: number; from: number; until: number }) => {
  const own = db.selectFrom("history").select("changed_at").where("user_id", "=", p.user_id).limit(sql.lit(1));
  const later = own.where("changed_at", ">=", p.from).where("at", ">", p.at).orderBy("changed_at");
  const surelyLater = later.where("at", "<=", p.until);
  const earlier = own
    .where("at", "<=", p.at)
    .where("changed_at", "<", (row) => row.fn.coalesce(surelyLater, HIGHEST))
    .orderBy("changed_at", "desc");
  return later.where("changed_at", ">", (row) => row.fn.coalesce(earlier, row.lit(0)));
});

const listChangesBefore = statement((db, p: HistorySpan) => pageOf(db, p).select(columnsOf("history")));

/** Reads all changes between two timestamps, or from one on, newest first, each page in its own read transaction. */
export const readChanges = (database: Database, { user_id, from, to }: Owner & { from: number; to?: number }) =>
  readPages(
    to === undefined ? HISTORY_END : { changed_at: to + 1, seq: 0 },
    (place, limit) => database.read((tx) => listChangesBefore(tx, { user_id, from, ...place, limit })),
    historyPosition,
  );

/** The `limit` last changes from a timestamp on, newest first. */
export const listChangesFrom = (tx: Tx, { limit: most, ...p }: Owner & { from: number; limit?: number }) =>
  readRows(HISTORY_END, (place, limit) => listChangesBefore(tx, { ...p, ...place, limit }), historyPosition, most);

/** The changes from a timestamp on that come before a position, newest first: what happened, and who did it. */
export const listActsFrom = statement((db, p: HistorySpan) =>
  pageOf(db, p).select(["changed_at", "seq", "at", "subscription", "what", "before", "merged_into", ...ACTOR]),
);

export const readHistoryStart = statement((db, p: Owner) =>
  db.selectFrom("users").select(["history_since", "created_at"]).where("id", "=", p.user_id),
);

/** The timestamp of the last of the user's `limit` oldest changes before `before`; null if there is none. */
export const lastToPrune = statement((db, p: Owner & { before: number; limit: number }) =>
  db
    .selectFrom((from) =>
      from
        .selectFrom("history")
        .select("changed_at")
        .where("user_id", "in", [p.user_id])
        .where("changed_at", "<", p.before)
        .orderBy("changed_at")
        .limit(p.limit)
        .as("old"),
    )
    .select((row) => row.fn.max<number | null>("changed_at").as("changed_at")),
);

export const pruneHistory = statement((db, p: Owner & { to: number }) =>
  db.deleteFrom("history").where("user_id", "=", p.user_id).where("changed_at", "<=", p.to).returning("seq"),
);

/** Up to which timestamp the user keeps mass removals. */
export const readKeptRemovals = statement((db, p: Owner) =>
  db.selectFrom("users").select("removals_kept").where("id", "=", p.user_id),
);

export const saveKeptRemovals = statement((db, p: Owner & { to: number }) =>
  db
    .updateTable("users")
    .set({ removals_kept: p.to })
    .where("id", "=", p.user_id)
    .where("removals_kept", "<", p.to)
    .where("clock", ">=", p.to),
);

/** Records that the history begins after `to`. */
export const saveHistoryStart = statement((db, p: Owner & { to: number }) =>
  db.updateTable("users").set({ history_since: p.to }).where("id", "=", p.user_id).where("history_since", "<", p.to),
);
