// Reading JSON of others.

/** Parses JSON; null if the text is not JSON, for a schema to refuse. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = Buffer.from('"\\,[{');

/** The values in valid JSON; an object or array that is not empty counts as one more than it has. */
export function countValues(json: Uint8Array): number {
  let count = 1;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === COMMA || byte === BRACKET || byte === BRACE) count++;
    else if (byte === QUOTE) at = endOfText(json, at);
  }
  return count;
}

/** @param start where the text's first quotation mark is */
function endOfText(json: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
}
