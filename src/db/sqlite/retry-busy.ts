// Waiting for another process that writes to the same file, without blocking the event loop.
import { SQLiteError, type Database as Sqlite } from "bun:sqlite";
import { DomainError } from "../../errors.ts";

/** Runs `act`, again and again while another process writes. @throws DomainError "unavailable" after `timeout` ms */
export async function begin(sqlite: Sqlite, timeout: number, act: () => void): Promise<void> {
  const end = performance.now() + timeout;
  for (let pause = 1; ; pause = Math.min(pause * 2, 20)) {
    try {
      return act();
    } catch (error) {
      if (!isBusy(error) || sqlite.inTransaction) throw error;
      if (performance.now() > end) {
        throw new DomainError("unavailable", "Another process is writing to the database", { retry_after: 5 });
      }
    }
    await Bun.sleep(pause);
  }
}

/** SQLite's name of an error; empty for others. */
export const codeOf = (error: unknown) => (error instanceof SQLiteError ? (error.code ?? "") : "");
const isBusy = (error: unknown) => codeOf(error).startsWith("SQLITE_BUSY");
