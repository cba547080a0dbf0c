// What happens between the transactions of one request or command.
import type { Context } from "../../src/services/context.ts";

/** A context that calls `act` before each write, with its number from 1 on. */
export function beforeWrites<C extends Context>(context: C, act: (write: number) => Promise<void> | void): C {
  let writes = 0;
  const database: Context["database"] = Object.assign(Object.create(context.database), {
    read: context.database.read.bind(context.database),
    write: async <T>(work: Parameters<typeof context.database.write<T>>[0], queue: number) => {
      await act(++writes);
      return context.database.write(work, queue);
    },
  });
  return { ...context, database };
}
