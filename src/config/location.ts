// Where the data is: a database file or a PostgreSQL server.

import { dirname, resolve } from "node:path";

export type Location = { file: string } | { url: string };

/** The data directory, or the PostgreSQL server without its credentials. */
export const describeLocation = (location: Location): string =>
  "file" in location ? resolve(dirname(location.file)) : `PostgreSQL at ${new URL(location.url).host}`;

/** Reads `postgres://…`, or the path of a file with or without `sqlite:` before it. */
export function parseLocation(text: string): Location {
  return /^postgres(ql)?:\/\//.test(text) ? { url: text } : { file: text.replace(/^sqlite:(\/\/)?/, "") };
}
