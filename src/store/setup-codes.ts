// Statements on the code that makes the first user. There is one row at most.
import { statement } from "../db/statement.ts";

const ONLY = 1;

/** Inserts the code, unless there is one. */
export const insertSetupCode = statement((db, p: { code: string }) =>
  db
    .insertInto("setup_codes")
    .values({ id: ONLY, code: p.code })
    .onConflict((conflict) => conflict.column("id").doNothing()),
);

export const findSetupCode = statement((db) => db.selectFrom("setup_codes").select("code"));

/** Deletes the code, and returns it if it was there: of several transactions, one gets it. */
export const takeSetupCode = statement((db) => db.deleteFrom("setup_codes").returning("code"));
