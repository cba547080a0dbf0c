// What a test sees of the statements of a transaction.
import type { Query, Tx } from "../../src/db/statement.ts";

/** The same transaction, which calls `act` after each statement with the rows that it returned, and waits for it. */
export const afterStatements = (tx: Tx, act: (rows: unknown[], query: Query) => Promise<void> | void): Tx => ({
  ...tx,
  async execute(query) {
    const rows = await tx.execute(query);
    await act(rows, query);
    return rows;
  },
});
