// Readiness.
import type { Context } from "./context.ts";

/** @throws DomainError "unavailable" if the database can't be read, or its file was replaced */
export function checkReady({ database }: Context): Promise<void> {
  return database.check();
}
