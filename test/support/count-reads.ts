// What a function reads from the database.
import type { Changes } from "../../src/db/database.ts";
import type { Tx } from "../../src/db/statement.ts";
import type { Context } from "../../src/services/context.ts";
import { afterStatements } from "./after-statements.ts";
import { withMethods } from "./with-methods.ts";

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
            afterStatements(tx, (rows) => {
              read += rows.length;
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
          afterStatements(tx, (rows) => {
            read.statements++;
            read.rows += rows.length;
          }),
        ),
      ),
  });
  await work({ ...context, database: counting });
  return read;
}
