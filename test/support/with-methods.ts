// A database of which a test replaces some methods.
import type { Database } from "../../src/db/database.ts";

/** The same database with these methods instead of those of its class, which they may call. */
export const withMethods = (database: Database, methods: Partial<Database>): Database =>
  new Proxy(database, {
    get(target, name) {
      const method = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
