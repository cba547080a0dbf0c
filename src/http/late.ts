// Requests that waited: a token may have been revoked since, because of who sends them.
import type { Context } from "hono";
import type { HttpEnv } from "./env.ts";

/** Milliseconds. */
const LATE = 1000;

/**
 * Reads the credential of a request again if it has waited for more than a second.
 * @param since performance.now() when it began to wait
 * @throws DomainError "unauthorized" if the credential has ended
 */
export async function checkIfLate(c: Context<HttpEnv>, since: number): Promise<void> {
  if (performance.now() - since > LATE) await c.get("checkAgain")?.();
}
