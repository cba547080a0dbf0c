// Statements on the ends of pages.
import type { Kysely } from "kysely";
import type { Owner, PageEndTable, Schema } from "../db/schema.ts";
import { statement, type ValuesOf } from "../db/statement.ts";
import { saveRow } from "./rows.ts";

type Page = Owner & { page: string };

const endsAt = (db: Kysely<Schema>, p: Page) =>
  db.selectFrom("page_ends").where("user_id", "=", p.user_id).where("page", "=", p.page);

/** The first end of a page, in the order of the change feed, of those in a span of time. */
export const findFirstEnd = statement((db, p: Page & { after: number; before: number }) =>
  endsAt(db, p)
    .select(["changed_at", "guid"])
    .where("ended_at", ">", p.after)
    .where("ended_at", "<", p.before)
    .orderBy("changed_at")
    .orderBy("guid")
    .limit(1),
);

/** One end of a page, if it was kept in a span of time, and the page `open` has `least` ends or more. */
export const findEnd = statement(
  (db, p: Omit<ValuesOf<PageEndTable>, "ended_at"> & { after: number; before: number; open: string; least: number }) =>
    endsAt(db, p)
      .select("ended_at")
      .where("changed_at", "=", p.changed_at)
      .where("guid", "=", p.guid)
      .where("ended_at", ">", p.after)
      .where("ended_at", "<", p.before)
      .where(
        endsAt(db, { user_id: p.user_id, page: p.open }).select((row) => row.fn.countAll<number>().as("count")),
        ">=",
        p.least,
      ),
);

export const keepPageEnd = saveRow("page_ends");

export const listEndsAt = statement((db, p: Page) => endsAt(db, p).select(["changed_at", "guid"]));

/** Deletes one end of a page, if there is one. */
export const deleteOneAt = statement((db, p: Page) =>
  db
    .deleteFrom("page_ends")
    .where("user_id", "=", p.user_id)
    .where("page", "=", p.page)
    .where("guid", "=", endsAt(db, p).select("guid").orderBy("ended_at").limit(1)),
);

/** Deletes the ends of pages whose keys are in a range. */
export const deletePageEndsBetween = statement((db, p: Owner & { from: string; to: string }) =>
  db.deleteFrom("page_ends").where("user_id", "=", p.user_id).where("page", ">=", p.from).where("page", "<=", p.to),
);

/** Deletes ends outside a span of time, and all but the `kept` latest. */
export const deleteOldPageEnds = statement((db, p: Owner & { after: number; before: number; kept: number }) =>
  db
    .deleteFrom("page_ends")
    .where("user_id", "=", p.user_id)
    .where((row) =>
      row.or([
        row("ended_at", "<=", p.after),
        row("ended_at", ">=", p.before),
        row("ended_at", "<=", (rows) =>
          rows
            .selectFrom("page_ends")
            .select("ended_at")
            .where("user_id", "=", p.user_id)
            .orderBy("ended_at", "desc")
            .limit(1)
            .offset(p.kept),
        ),
      ]),
    ),
);
