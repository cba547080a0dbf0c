// Whether the server can do its work.
import type { Context } from "./context.ts";

/** @throws DomainError "unavailable" where the database can't be read, or is no longer the one on disk */
export function checkReady({ database }: Context): Promise<void> {
  return database.check();
}
