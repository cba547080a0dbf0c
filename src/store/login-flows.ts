// Statements on login flows.
import type { Kysely } from "kysely";
import type { Schema } from "../db/schema.ts";
import { statement } from "../db/statement.ts";
import { isOver, type Lasting, lasts } from "./expiry.ts";
import { deleteRowsOf, insertRow } from "./rows.ts";

export const deleteExpiredFlows = statement((db, p: Lasting) => db.deleteFrom("login_flows").where(isOver(p)));

export const deleteUserFlows = deleteRowsOf("login_flows");

/** How many flows there are, and how many an address has started. */
export const countLoginFlows = statement((db, p: { address: string }) =>
  db
    .selectFrom("login_flows")
    .select((row) => [
      row.fn.countAll<number>().as("all"),
      row.fn.count<number>(row.case().when("address", "=", p.address).then(1).end()).as("of_address"),
    ]),
);

export const insertLoginFlow = insertRow("login_flows");

/** Flows, the oldest first; those that are not approved come before the others. */
const oldestFlows = (db: Kysely<Schema>, limit: number) =>
  db
    .selectFrom("login_flows")
    .select("page_hash")
    .orderBy((row) => row.case().when("user_id", "is", null).then(row.lit(0)).else(row.lit(1)).end())
    .orderBy("expires_at")
    .orderBy("page_hash")
    .limit(limit);

export const deleteOldestFlows = statement((db, p: { excess: number }) =>
  db.deleteFrom("login_flows").where("page_hash", "in", oldestFlows(db, p.excess)),
);

export const deleteOldestFlowsOf = statement((db, p: { address: string; excess: number }) =>
  db.deleteFrom("login_flows").where("page_hash", "in", oldestFlows(db, p.excess).where("address", "=", p.address)),
);

/** A flow that has not expired, and that no other user has approved. */
export const findOpenFlow = statement((db, p: Lasting & { page_hash: string; user_id: number }) =>
  db
    .selectFrom("login_flows")
    .select(["label", "address", "user_id"])
    .where("page_hash", "=", p.page_hash)
    .where((row) => row.or([row("user_id", "is", null), row("user_id", "=", p.user_id)]))
    .where(lasts(p)),
);

export const approveFlow = statement((db, p: Lasting & { page_hash: string; user_id: number }) =>
  db
    .updateTable("login_flows")
    .set({ user_id: p.user_id })
    .where("page_hash", "=", p.page_hash)
    .where("user_id", "is", null)
    .where(lasts(p))
    .returning("label"),
);

export const denyFlow = statement((db, p: Lasting & { page_hash: string }) =>
  db
    .deleteFrom("login_flows")
    .where("page_hash", "=", p.page_hash)
    .where("user_id", "is", null)
    .where(lasts(p))
    .returning("label"),
);

export const findApprovedFlow = statement((db, p: Lasting & { poll_hash: string }) =>
  db
    .selectFrom("login_flows")
    .select(["user_id", "label"])
    .where("poll_hash", "=", p.poll_hash)
    .where("user_id", "is not", null)
    .where(lasts(p)),
);

/** Gives an approved flow its token; returns nothing if it has one, or is gone. */
export const claimFlow = statement((db, p: { poll_hash: string; token_id: string }) =>
  db
    .updateTable("login_flows")
    .set({ token_id: p.token_id })
    .where("poll_hash", "=", p.poll_hash)
    .where("user_id", "is not", null)
    .where("token_id", "is", null)
    .returning("user_id"),
);
