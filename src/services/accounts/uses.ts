// Notes of the last use of tokens and sessions.
import type { Context } from "../context.ts";

/** Writes when something was used, unless that is being written. Not awaited: a full disk must not lock readers out. */
export function noteUse({ noting }: Pick<Context, "noting">, what: string, write: () => Promise<unknown>): void {
  if (noting.has(what)) return;
  noting.add(what);
  write()
    .catch(() => {})
    .finally(() => noting.delete(what));
}
