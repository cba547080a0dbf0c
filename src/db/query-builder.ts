// A Kysely that builds and compiles statements, and can't execute them.
import { Kysely, PostgresDialect, SqliteDialect } from "kysely";
import type { Schema } from "./schema.ts";

// It would run outside its transaction.
async function refuse(): Promise<never> {
  throw new Error("This query builder can't execute: pass a statement to Tx.execute");
}

const DIALECTS = {
  sqlite: new SqliteDialect({ database: refuse }),
  postgres: new PostgresDialect({ pool: refuse }),
};

/** Compiles for an engine. Executing a query throws. */
export const createQueryBuilder = (engine: keyof typeof DIALECTS) => new Kysely<Schema>({ dialect: DIALECTS[engine] });
