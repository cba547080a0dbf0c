// Prepared statements behind a pooler.
import { Connection, connect, type PoolOptions } from "./connection.ts";

/** Connections beside the first: while other servers start, a pooler may open a new one of its own for each. */
const OTHERS = 3;

// Bun prepares only statements with parameters, and sends others as text.
const prepare = (connection: Connection) => connection.run({ sql: "select $1::int", parameters: [1] });

/**
 * Shows whether a pooler in between mixes up the prepared statements of its clients: Bun calls those of each connection P0,
 * P1 and so on, and one client would run another one's. The first connection asks twice, for a pooler that takes turns; the
 * others ask for what it has just used. Two are open at a time, because in session mode the pooler may have no more.
 * @throws PostgresError that mixesStatements() knows if it does, DomainError "unavailable" if it doesn't respond in time
 */
export async function refuseMixing(first: Connection, options: PoolOptions): Promise<void> {
  await prepare(first);
  await prepare(first);
  for (let others = 0; others < OTHERS; others++) {
    const other = new Connection(connect(options, options.timeout), options, {});
    try {
      await prepare(other);
      await prepare(first);
      await prepare(other);
    } finally {
      await other.close();
    }
  }
}
