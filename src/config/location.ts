// Where the data is: a database file or a PostgreSQL server.
import { dirname, resolve } from "node:path";
import { DomainError } from "../errors.ts";

export type Location = { file: string } | { url: string };

/** The data directory, or the PostgreSQL server without its credentials. */
export const describeLocation = (location: Location): string =>
  "file" in location ? resolve(dirname(location.file)) : `PostgreSQL at ${new URL(location.url).host}`;

/**
 * Reads `postgres://…`, or the path of a file with or without `sqlite:` before it.
 * @throws DomainError "invalid" for an empty name and for another URL, without what may be a password
 */
export function parseLocation(text: string): Location {
  if (/^postgres(ql)?:\/\//.test(text)) return { url: text };
  const file = text.replace(/^sqlite:(\/\/)?/, "");
  const [scheme] = /^(?:[^/]*:\/\/|postgres\w*:\/?)/.exec(file) ?? [];
  if (file === "") throw new DomainError("invalid", "The name of a database is empty: give postgres://… or a file");
  if (scheme === undefined) return { file };
  throw new DomainError("invalid", `A URL that begins with ${scheme} names no database: give postgres://… or a file`);
}
