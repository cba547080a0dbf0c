// Where the data is: a database file or a PostgreSQL server.

export type Location = { file: string } | { url: string };

/** Reads `postgres://…`, or the path of a file with or without `sqlite:` before it. */
export function parseLocation(text: string): Location {
  return /^postgres(ql)?:\/\//.test(text) ? { url: text } : { file: text.replace(/^sqlite:(\/\/)?/, "") };
}
