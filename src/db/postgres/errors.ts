// Errors of PostgreSQL and of PgBouncer.
import { SQL } from "bun";
import { DomainError, isTlsError, messageOf, reasonOf, unavailableNow } from "../../errors.ts";

/** The server's own limits. A process that hangs must not keep a user's row locked. @param limit milliseconds */
export const timeLimits = (limit: number) => ({
  statement_timeout: limit,
  idle_in_transaction_session_timeout: limit,
});

/** The SQLSTATE of an error that the server sent; empty for other errors. */
export const sqlStateOf = (error: unknown) => (error instanceof SQL.PostgresError ? (error.errno ?? "") : "");

/** Whether the server asks for the transaction to be run again. */
export function isConflict(error: unknown): boolean {
  // 23505 and 23503: the next attempt sees the row that another transaction inserted or deleted.
  return /^(40001|40P01|23505|23503)$/.test(sqlStateOf(error));
}

/**
 * Whether a statement was prepared before a migration changed the types of its columns. The next attempt prepares it
 * again; each connection has its own.
 */
export const isOutdated = (error: unknown) => sqlStateOf(error) === "0A000";

/** Whether the connection was lost or refused, so that an uncommitted transaction changed nothing. */
export function isLost(error: unknown): boolean {
  if (!(error instanceof SQL.PostgresError) || mixesStatements(error)) return false;
  // 25P03 and 25P04: this process stood still in a transaction until its time was over. 53300: too many connections, also
  // while one that has been closed still counts.
  return error.errno ? /^(08|57P|25P0[34]|53300)/.test(error.errno) : /CONNECTION|TIMEOUT/.test(error.code);
}

/** Whether the connection leads to a server that takes no changes: a standby, or one with a full disk at some providers. */
export const isReadOnly = (error: unknown) => sqlStateOf(error) === "25006";

/**
 * Whether a statement that failed so may give empty rows on this connection from now on: PgBouncer, which had prepared it
 * for another client, said so before PostgreSQL refused to describe it, and Bun keeps it without columns. Constraints
 * and conflicts, which are frequent, are found later.
 */
export const mayLackColumns = (error: unknown) => /^(?!23|40001)./.test(sqlStateOf(error));

/** The parameter of a connection that PgBouncer refuses; undefined for another error. */
export const refusedParameter = (error: unknown): string | undefined =>
  sqlStateOf(error) === "08P01" ? /unsupported startup parameter: (\w+)/.exec(messageOf(error))?.[1] : undefined;

/**
 * Whether a pooler mixes up the prepared statements of its clients: one exists on another connection only, another client
 * made it on this one, or that one's has other parameters. Bun calls those of each connection P0, P1 and so on.
 */
export function mixesStatements(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === "26000" || state === "42P05" || (state === "08P01" && /"P\d+"/.test(messageOf(error)));
}

/** PgBouncer gets in the way. */
export class PoolerFault extends DomainError {
  /** @param advice what to set in it: the end of a sentence, without a full stop */
  constructor(
    readonly fault: string,
    readonly advice: string,
    cause: unknown,
  ) {
    super("unavailable", `${fault}: ${advice}`, { retry_after: 5, cause });
  }
}

/** The fault of PgBouncer that this error shows; null if none. @param subject what can't be used because of it */
export function findPoolerFault(error: unknown, subject = ""): PoolerFault | null {
  if (mixesStatements(error)) {
    const advice = "set max_prepared_statements = 200 (needs PgBouncer 1.21), or pool_mode = session";
    return new PoolerFault(`${subject}PgBouncer mixes up prepared statements`, advice, error);
  }
  if ((refusedParameter(error) ?? "") in timeLimits(0)) {
    const advice = `set ignore_startup_parameters = ${Object.keys(timeLimits(0)).join(",")}`;
    return new PoolerFault(`${subject}PgBouncer refuses the time limits`, advice, error);
  }
  return null;
}

/** The error that callers get: "unavailable" if the server's reason may pass, "invalid" for text with a NUL. */
export function translate(error: unknown): unknown {
  if (sqlStateOf(error) === "22021") {
    return new DomainError("invalid", "A text has a character that can't be stored", { cause: error });
  }
  const pooler = findPoolerFault(error);
  if (pooler) return pooler;
  // A pooler's outdated plans, out of resources or of transaction ids, a right that is missing, lock or statement timeout, a
  // failing disk, a changing login or database.
  const refused = /^(0A000|28|3D|40|42501|53|54000|55000|55P03|57|58)/.test(sqlStateOf(error));
  return refused || isReadOnly(error) || isLost(error) || isTlsError(error) ? unavailable(error) : error;
}

const ADVICE: Record<string, string> = {
  "42501": ". Make the user of PODKEEP_DATABASE_URL its owner",
  // PgBouncer has statements from before a migration; other connections have new ones after one attempt.
  "0A000": ". Behind PgBouncer, run RECONNECT in its console",
};

/** What callers get while PostgreSQL can't be reached, or refuses. @param silence what it did if it sends no reason */
export function unavailable(cause: unknown, silence = `can't be reached now: ${reasonOf(cause)}`): DomainError {
  const state = sqlStateOf(cause);
  const hasReason = state !== "" || isTlsError(cause);
  const message = hasReason
    ? `PostgreSQL can't be used now: ${reasonOf(cause)}${ADVICE[state] ?? ""}`
    : `PostgreSQL ${silence}`;
  return unavailableNow(message, cause);
}
