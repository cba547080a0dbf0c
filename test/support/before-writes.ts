// What happens between the transactions of one request or command.
import type { Context } from "../../src/services/context.ts";
import { withMethods } from "./with-methods.ts";

/** A context that calls `act` before each write, with its number from 1 on. */
export function beforeWrites<C extends Context>(context: C, act: (write: number) => Promise<void> | void): C {
  let writes = 0;
  const database = withMethods(context.database, {
    async write(work, queue) {
      await act(++writes);
      return context.database.write(work, queue);
    },
  });
  return { ...context, database };
}

/** Has something happen after the next write of an app, before who waits for it goes on. */
export function afterNextWrite(app: Context, act: () => Promise<unknown>): void {
  const { database } = app;
  app.database = withMethods(database, {
    async write(work, queue, changes) {
      app.database = database;
      const result = await database.write(work, queue, changes);
      await act();
      return result;
    },
  });
}
