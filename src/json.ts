// Reading JSON of others.

/** Parses JSON; null if the text is not JSON, for a schema to refuse. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
