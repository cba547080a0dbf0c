// A Kysely that builds and compiles statements, and can't execute them.
import { type Dialect, DummyDriver, Kysely } from "kysely";
import type { Schema } from "./schema.ts";

class RefusingDriver extends DummyDriver {
  override async acquireConnection(): Promise<never> {
    throw new Error("This query builder can't execute: pass a statement to Tx.execute");
  }
}

/** Compiles for the dialect's engine. Executing a query throws, because it would run outside its transaction. */
export function createQueryBuilder(dialect: Dialect): Kysely<Schema> {
  return new Kysely<Schema>({
    dialect: {
      createDriver: () => new RefusingDriver(),
      createAdapter: () => dialect.createAdapter(),
      createQueryCompiler: () => dialect.createQueryCompiler(),
      createIntrospector: (db) => dialect.createIntrospector(db),
    },
  });
}
