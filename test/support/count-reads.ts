// What a function reads from the database.
import type { Changes } from "../../src/db/database.ts";
import type { Tx } from "../../src/db/statement.ts";
import type { Context } from "../../src/services/context.ts";
import { withMethods } from "./with-methods.ts";

/** Calls `note` after each statement, with the number of rows that it returned. */
const noteRows = (tx: Tx, note: (rows: number) => void): Tx => ({
  kysely: tx.kysely,
  async execute(query) {
    const found = await tx.execute(query);
    note(found.length);
    return found;
  },
});

/** The most rows that the statements of one write transaction of `work` return. */
export async function mostReadByWrites<C extends Context>(context: C, work: (context: C) => Promise<unknown>) {
  let most = 0;
  const { database } = context;
  const counting = withMethods(database, {
    write: <T>(run: (tx: Tx) => Promise<T>, ...of: [queue?: number, changes?: Changes]) =>
      database.write(
        (tx) => {
          let read = 0;
          return run(
            noteRows(tx, (rows) => {
              read += rows;
              most = Math.max(most, read);
            }),
          );
        },
        ...of,
      ),
  });
  await work({ ...context, database: counting });
  return most;
}

/** Counts the statements that `work` reads with, and their rows. */
export async function countReads<C extends Context>(context: C, work: (context: C) => Promise<unknown>) {
  const read = { statements: 0, rows: 0 };
  const { database } = context;
  const counting = withMethods(database, {
    read: <T>(run: (tx: Tx) => Promise<T>) =>
      database.read((tx) =>
        run(
          noteRows(tx, (rows) => {
            read.statements++;
            read.rows += rows;
          }),
        ),
      ),
  });
  await work({ ...context, database: counting });
  return read;
}
